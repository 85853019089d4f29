// why: the full mask in an arm that half of the lanes take, as numba-cuda-mlir 0.6.0 writes `k_div_sync` of `kern.py` after its passes, with line information
// ptxcheck-args: -W potential
#di_file = #llvm.di_file<"kern.py" in "">
#di_null_type = #llvm.di_null_type
#loc = loc("kern.py":6:0)
#di_compile_unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C_plus_plus, file = #di_file, producer = "clang (numba-cuda-mlir)", isOptimized = true, emissionKind = DebugDirectivesOnly>
#di_subroutine_type = #llvm.di_subroutine_type<types = #di_null_type>
#di_subprogram = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #di_compile_unit, scope = #di_file, name = "k_div_sync", file = #di_file, line = 6, scopeLine = 6, subprogramFlags = "Definition|Optimized", type = #di_subroutine_type>
#loc9 = loc(fused<#di_subprogram>[#loc])
module {
  gpu.module @numba_cuda_mlir_gpu_module [#nvvm.target<O = 3, chip = "sm_100">] attributes {numba_cuda_mlir.link_target} {
    llvm.mlir.global common @__numba_cuda_mlir_error_code(0 : i32) {addr_space = 0 : i32} : i32 loc(#loc9)
    llvm.func @_Z10k_div_sync5ArrayIiLi1E1C7mutable7alignedE(%arg0: !llvm.ptr loc(fused<#di_subprogram>[#loc]), %arg1: !llvm.ptr loc(fused<#di_subprogram>[#loc]), %arg2: i64 loc(fused<#di_subprogram>[#loc]), %arg3: i64 loc(fused<#di_subprogram>[#loc]), %arg4: i64 loc(fused<#di_subprogram>[#loc])) attributes {gpu.kernel, llvm.emit_c_interface, numba_cuda_mlir.arg_attrs = [{}], numba_cuda_mlir.orig_arg_types = [memref<?xi32, strided<[?], offset: ?>>], nvvm.kernel} {
      %0 = llvm.mlir.constant(16 : i64) : i64 loc(#loc1)
      %1 = llvm.mlir.constant(1 : i64) : i64 loc(#loc2)
      %2 = llvm.mlir.constant(0 : index) : i64 loc(#loc2)
      %3 = llvm.mlir.constant(32 : i64) : i64 loc(#loc2)
      %4 = llvm.mlir.constant(1 : i32) : i32 loc(#loc2)
      %5 = llvm.mlir.constant(-1 : i32) : i32 loc(#loc2)
      %6 = nvvm.read.ptx.sreg.tid.x : i32 loc(#loc3)
      %7 = llvm.sext %6 : i32 to i64 loc(#loc3)
      %8 = llvm.trunc %7 : i64 to i32 loc(#loc3)
      %9 = llvm.sext %8 : i32 to i64 loc(#loc1)
      %10 = llvm.icmp "slt" %9, %0 : i64 loc(#loc1)
      llvm.cond_br %10, ^bb1, ^bb2 loc(#loc1)
    ^bb1:  // pred: ^bb0
      %11 = llvm.icmp "slt" %9, %2 : i64 loc(#loc4)
      %12 = llvm.add %9, %arg3 : i64 loc(#loc4)
      %13 = llvm.select %11, %12, %9 : i1, i64 loc(#loc4)
      %14 = llvm.getelementptr %arg1[%arg2] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc4)
      %15 = llvm.mul %13, %arg4 overflow<nsw, nuw> : i64 loc(#loc4)
      %16 = llvm.getelementptr inbounds|nuw %14[%15] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc4)
      llvm.store %4, %16 : i32, !llvm.ptr loc(#loc4)
      nvvm.bar.warp.sync %5 : i32 loc(#loc5) //~ PTX402?
      %17 = llvm.add %9, %1 overflow<nsw> : i64 loc(#loc6)
      %18 = llvm.icmp "slt" %17, %2 : i64 loc(#loc6)
      %19 = llvm.add %17, %arg3 : i64 loc(#loc6)
      %20 = llvm.select %18, %19, %17 : i1, i64 loc(#loc6)
      %21 = llvm.mul %20, %arg4 overflow<nsw, nuw> : i64 loc(#loc6)
      %22 = llvm.getelementptr inbounds|nuw %14[%21] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc6)
      %23 = llvm.load %22 : !llvm.ptr -> i32 loc(#loc6)
      llvm.store %23, %16 : i32, !llvm.ptr loc(#loc6)
      llvm.br ^bb2 loc(#loc7)
    ^bb2:  // 2 preds: ^bb0, ^bb1
      nvvm.bar.warp.sync %5 : i32 loc(#loc7)
      %24 = llvm.add %9, %3 overflow<nsw> : i64 loc(#loc8)
      %25 = llvm.icmp "slt" %24, %2 : i64 loc(#loc8)
      %26 = llvm.add %24, %arg3 : i64 loc(#loc8)
      %27 = llvm.select %25, %26, %24 : i1, i64 loc(#loc8)
      %28 = llvm.getelementptr %arg1[%arg2] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc8)
      %29 = llvm.mul %27, %arg4 overflow<nsw, nuw> : i64 loc(#loc8)
      %30 = llvm.getelementptr inbounds|nuw %28[%29] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc8)
      llvm.store %8, %30 : i32, !llvm.ptr loc(#loc8)
      llvm.return loc(#loc8)
    } loc(#loc9)
  } loc(#loc9)
} loc(#loc9)
#loc1 = loc("kern.py":8:0)
#loc2 = loc(unknown)
#loc3 = loc("kern.py":7:0)
#loc4 = loc("kern.py":9:0)
#loc5 = loc("kern.py":10:0)
#loc6 = loc("kern.py":11:0)
#loc7 = loc("kern.py":12:0)
#loc8 = loc("kern.py":13:0)
