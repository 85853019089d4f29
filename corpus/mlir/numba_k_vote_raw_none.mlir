// why: a mask of half the lanes that all execute, as numba-cuda-mlir 0.6.0 writes `k_vote` of `kern.py` before its passes, plain
// ptxcheck-args: -W potential
module {
  gpu.module @numba_cuda_mlir_gpu_module [#nvvm.target<O = 3, chip = "sm_100">] attributes {numba_cuda_mlir.link_target} {
    llvm.mlir.global common @__numba_cuda_mlir_error_code(0 : i32) {addr_space = 0 : i32} : i32
    gpu.func @_Z6k_vote5ArrayIiLi1E1C7mutable7alignedE(%arg0: memref<?xi32, strided<[?], offset: ?>>) kernel attributes {llvm.emit_c_interface, numba_cuda_mlir.arg_attrs = [{}], numba_cuda_mlir.orig_arg_types = [memref<?xi32, strided<[?], offset: ?>>]} {
      %thread_id_x = gpu.thread_id x
      %0 = arith.index_cast %thread_id_x : index to i32
      %c65535_i64 = arith.constant 65535 : i64
      %c3_i64 = arith.constant 3 : i64
      %1 = arith.extsi %0 : i32 to i64
      %2 = arith.cmpi sgt, %1, %c3_i64 : i64
      %3 = arith.trunci %c65535_i64 : i64 to i32
      %4 = nvvm.vote.sync ballot %3, %2 -> i32 //~ PTX403
      %5 = arith.index_cast %0 : i32 to index
      %c0 = arith.constant 0 : index
      %6 = arith.cmpi slt, %5, %c0 : index
      %c0_0 = arith.constant 0 : index
      %dim = memref.dim %arg0, %c0_0 : memref<?xi32, strided<[?], offset: ?>>
      %7 = arith.addi %5, %dim : index
      %8 = arith.select %6, %7, %5 : index
      memref.store %4, %arg0[%8] : memref<?xi32, strided<[?], offset: ?>>
      gpu.return
    }
  }
}
