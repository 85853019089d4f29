// why: where `loc` names no place, findings stand on their lines all the same
// no-bytecode: the place of the text is gone in it, and MLIR's own tools do not read `nvvm.barrier loc(…)`
// only-in-mlir: likewise
gpu.module @places [#nvvm.target<chip = "sm_90">] {
  llvm.func @k() attributes {nvvm.kernel, gpu.kernel} {
    %none = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %none : i32 loc(unknown) //~ PTX407
    nvvm.bar.warp.sync %none : i32 loc("name") //~ PTX407
    nvvm.barrier loc("k.py":3:1)
    llvm.call @f() : () -> () loc(unknown)
    llvm.return
  }
  llvm.func @f() {
    %none = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %none : i32 //~ PTX407
    llvm.return
  }
}
