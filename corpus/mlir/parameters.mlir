// why: parameters by value that exceed what the target can pass
gpu.module @parameters [#nvvm.target<chip = "sm_60">] {
  llvm.func @large(%p: !llvm.ptr {llvm.byval = !llvm.array<2048 x i32>, nvvm.grid_constant}, %out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} { //~ PTX301
    %v = llvm.load %p : !llvm.ptr -> i32
    llvm.store %v, %out : i32, !llvm.ptr
    llvm.return
  }

  llvm.func @small(%p: !llvm.ptr {llvm.byval = !llvm.array<16 x i32>, nvvm.grid_constant}, %out: !llvm.ptr) attributes {nvvm.kernel, gpu.kernel} {
    %v = llvm.load %p : !llvm.ptr -> i32
    llvm.store %v, %out : i32, !llvm.ptr
    llvm.return
  }
}
