// why: casts between address spaces that the pointer does not point into, and right ones; a cast of a symbol's address is a
// constant in LLVM IR, and its finding stands where that is used first
// only-in-mlir: LLVM's optimiser makes an undefined address of the first, PTX210
gpu.module @spaces [#nvvm.target<chip = "sm_90">] {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<64 x i32>
  llvm.mlir.global internal @table(dense<[1, 2, 3, 4]> : tensor<4xi32>) {addr_space = 1 : i32} : !llvm.array<4 x i32>

  llvm.func @shared_as_global(%out: !llvm.ptr<1>) attributes {nvvm.kernel, gpu.kernel} {
    %t = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %g = llvm.addrspacecast %t : !llvm.ptr<3> to !llvm.ptr
    %x = llvm.addrspacecast %g : !llvm.ptr to !llvm.ptr<1>
    %v = llvm.load volatile %x : !llvm.ptr<1> -> i32 //~ PTX202
    llvm.store %v, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @parameter_as_shared(%in: !llvm.ptr, %out: !llvm.ptr<1>) attributes {nvvm.kernel, gpu.kernel} {
    %x = llvm.addrspacecast %in : !llvm.ptr to !llvm.ptr<3> //~ PTX202
    %v = llvm.load volatile %x : !llvm.ptr<3> -> i32
    llvm.store %v, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @right(%in: !llvm.ptr, %out: !llvm.ptr<1>) attributes {nvvm.kernel, gpu.kernel} {
    %t = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %g = llvm.addrspacecast %t : !llvm.ptr<3> to !llvm.ptr
    %back = llvm.addrspacecast %g : !llvm.ptr to !llvm.ptr<3>
    %v = llvm.load volatile %back : !llvm.ptr<3> -> i32
    %global = llvm.addrspacecast %in : !llvm.ptr to !llvm.ptr<1>
    %w = llvm.load volatile %global : !llvm.ptr<1> -> i32
    %sum = llvm.add %v, %w : i32
    llvm.store %sum, %out : i32, !llvm.ptr<1>
    llvm.return
  }
}
