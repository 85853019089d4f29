// why: symbols that no device code defines, and those of libdevice, which whoever compiles MLIR links
// ptxcheck-args: -W potential --whole-program
// only-in-mlir: the PTX leaves the function of libdevice open, and MLIR's pipeline compiles no host symbols
gpu.module @symbols [#nvvm.target<chip = "sm_90">] {
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @__cxa_throw(!llvm.ptr)
  llvm.func @on_the_host(f32) -> f32
  llvm.mlir.global external @of_the_host() {addr_space = 1 : i32} : f32

  llvm.func @k(%out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} {
    %x = llvm.load %out : !llvm.ptr -> f32
    %e = llvm.call @__nv_expf(%x) : (f32) -> f32
    %h = llvm.call @on_the_host(%e) : (f32) -> f32 //~ PTX105
    %a = llvm.mlir.addressof @of_the_host : !llvm.ptr<1>
    %v = llvm.load %a : !llvm.ptr<1> -> f32 //~ PTX105
    %s = llvm.fadd %h, %v : f32
    llvm.store %s, %out : f32, !llvm.ptr
    llvm.call @__cxa_throw(%out) : (!llvm.ptr) -> () //~ PTX108
    llvm.return
  }
}
