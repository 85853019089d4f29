// why: several inputs in one file, several operations at the top of one, kernels outlined and in no module
// no-bytecode: bytecode holds one input
// only-in-mlir: its tools make PTX of a `gpu.module` with a target alone
gpu.module @first {
  llvm.func @a() attributes {nvvm.kernel} {
    %none = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %none : i32 //~ PTX407
    llvm.return
  }
}
func.func @host() {
  return
}
gpu.module @second {
  llvm.func @a() attributes {nvvm.kernel} {
    %none = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %none : i32 //~ PTX407
    llvm.return
  }
}

// -----

func.func @launches() {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %none = arith.constant 0 : i32
    nvvm.bar.warp.sync %none : i32 //~ PTX407
    gpu.terminator
  }
  return
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  llvm.func @free() attributes {nvvm.kernel = 1 : ui1, nvvm.reqntid = array<i32: 128>} {
    %none = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %none : i32 //~ PTX407
    llvm.return
  }
}
