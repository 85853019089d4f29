// why: a mask of half the lanes that all execute, as numba-cuda-mlir 0.6.0 writes `k_vote` of `kern.py` after its passes, with debug information
// no-bytecode: MLIR 22 does not read its debug information
// only-in-mlir: likewise
// ptxcheck-args: -W potential
#di_basic_type = #llvm.di_basic_type<tag = DW_TAG_base_type, name = "i8", sizeInBits = 8, encoding = DW_ATE_unsigned>
#di_basic_type1 = #llvm.di_basic_type<tag = DW_TAG_base_type, name = "int64", sizeInBits = 64, encoding = DW_ATE_signed>
#di_basic_type2 = #llvm.di_basic_type<tag = DW_TAG_base_type, name = "int32", sizeInBits = 32, encoding = DW_ATE_signed>
#di_file = #llvm.di_file<"kern.py" in "">
#di_null_type = #llvm.di_null_type
#loc = loc("kern.py":27:0)
#di_compile_unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C_plus_plus, file = #di_file, producer = "clang (numba-cuda-mlir)", emissionKind = Full>
#di_composite_type = #llvm.di_composite_type<tag = DW_TAG_array_type, name = "UniTuple(int64 x 1) ([1 x i64])", baseType = #di_basic_type1, sizeInBits = 64, elements = #llvm.di_subrange<count = 1 : i64>>
#di_derived_type = #llvm.di_derived_type<tag = DW_TAG_pointer_type, baseType = #di_basic_type, sizeInBits = 64>
#di_derived_type1 = #llvm.di_derived_type<tag = DW_TAG_member, name = "nitems", baseType = #di_basic_type1, sizeInBits = 64, offsetInBits = 128>
#di_derived_type2 = #llvm.di_derived_type<tag = DW_TAG_member, name = "itemsize", baseType = #di_basic_type1, sizeInBits = 64, offsetInBits = 192>
#di_derived_type3 = #llvm.di_derived_type<tag = DW_TAG_pointer_type, baseType = #di_basic_type2, sizeInBits = 64>
#di_subroutine_type = #llvm.di_subroutine_type<types = #di_null_type>
#di_derived_type4 = #llvm.di_derived_type<tag = DW_TAG_member, name = "meminfo", baseType = #di_derived_type, sizeInBits = 64>
#di_derived_type5 = #llvm.di_derived_type<tag = DW_TAG_member, name = "parent", baseType = #di_derived_type, sizeInBits = 64, offsetInBits = 64>
#di_derived_type6 = #llvm.di_derived_type<tag = DW_TAG_member, name = "data", baseType = #di_derived_type3, sizeInBits = 64, offsetInBits = 256>
#di_derived_type7 = #llvm.di_derived_type<tag = DW_TAG_member, name = "shape", baseType = #di_composite_type, sizeInBits = 64, offsetInBits = 320>
#di_derived_type8 = #llvm.di_derived_type<tag = DW_TAG_member, name = "strides", baseType = #di_composite_type, sizeInBits = 64, offsetInBits = 384>
#di_subprogram = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #di_compile_unit, scope = #di_file, name = "k_vote", file = #di_file, line = 27, scopeLine = 27, subprogramFlags = Definition, type = #di_subroutine_type>
#di_composite_type1 = #llvm.di_composite_type<tag = DW_TAG_structure_type, name = "array(int32, 1d, C) ({i8*, i8*, i64, i64, i32*, [1 x i64], [1 x i64]})", sizeInBits = 448, elements = #di_derived_type4, #di_derived_type5, #di_derived_type1, #di_derived_type2, #di_derived_type6, #di_derived_type7, #di_derived_type8>
#di_local_variable = #llvm.di_local_variable<scope = #di_subprogram, name = "t", file = #di_file, line = 28, type = #di_basic_type2>
#loc4 = loc(fused<#di_subprogram>[#loc])
#di_local_variable1 = #llvm.di_local_variable<scope = #di_subprogram, name = "out", file = #di_file, line = 27, arg = 1, type = #di_composite_type1>
module {
  gpu.module @numba_cuda_mlir_gpu_module [#nvvm.target<O = 0, chip = "sm_100">] attributes {numba_cuda_mlir.link_target} {
    llvm.mlir.global common @__numba_cuda_mlir_error_code(0 : i32) {addr_space = 0 : i32} : i32 loc(#loc4)
    llvm.func @_Z6k_vote5ArrayIiLi1E1C7mutable7alignedE(%arg0: !llvm.ptr loc(fused<#di_subprogram>[#loc]), %arg1: !llvm.ptr loc(fused<#di_subprogram>[#loc]), %arg2: i64 loc(fused<#di_subprogram>[#loc]), %arg3: i64 loc(fused<#di_subprogram>[#loc]), %arg4: i64 loc(fused<#di_subprogram>[#loc])) attributes {gpu.kernel, llvm.emit_c_interface, numba_cuda_mlir.arg_attrs = [{}], numba_cuda_mlir.orig_arg_types = [memref<?xi32, strided<[?], offset: ?>>], nvvm.kernel} {
      %0 = llvm.mlir.constant(4 : i64) : i64 loc(#loc1)
      %1 = llvm.mlir.constant(1 : i64) : i64 loc(#loc1)
      %2 = llvm.mlir.undef : !llvm.array<1 x i64> loc(#loc1)
      %3 = llvm.mlir.zero : !llvm.ptr loc(#loc)
      %4 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)> loc(#loc)
      %5 = llvm.mlir.constant(3 : i64) : i64 loc(#loc2)
      %6 = llvm.mlir.constant(0 : index) : i64 loc(#loc1)
      %7 = llvm.mlir.constant(65535 : i32) : i32 loc(#loc2)
      %8 = llvm.mul %arg2, %0 : i64 loc(#loc)
      %9 = llvm.getelementptr %arg1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i8 loc(#loc)
      %10 = llvm.mul %arg4, %0 : i64 loc(#loc)
      %11 = llvm.insertvalue %arg3, %2[0] : !llvm.array<1 x i64>  loc(#loc)
      %12 = llvm.insertvalue %10, %2[0] : !llvm.array<1 x i64>  loc(#loc)
      %13 = llvm.insertvalue %3, %4[0] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %14 = llvm.insertvalue %3, %13[1] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %15 = llvm.insertvalue %arg3, %14[2] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %16 = llvm.insertvalue %0, %15[3] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %17 = llvm.insertvalue %9, %16[4] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %18 = llvm.insertvalue %11, %17[5] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %19 = llvm.insertvalue %12, %18[6] : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>  loc(#loc)
      %20 = llvm.alloca %1 x !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)> : (i64) -> !llvm.ptr loc(#loc)
      llvm.store volatile %19, %20 : !llvm.struct<(ptr, ptr, i64, i64, ptr, array<1 x i64>, array<1 x i64>)>, !llvm.ptr loc(#loc)
      llvm.intr.dbg.declare #di_local_variable1 = %20 : !llvm.ptr loc(#loc)
      %21 = nvvm.read.ptx.sreg.tid.x : i32 loc(#loc3)
      %22 = llvm.sext %21 : i32 to i64 loc(#loc3)
      %23 = llvm.trunc %22 : i64 to i32 loc(#loc3)
      llvm.intr.dbg.value #di_local_variable = %23 : i32 loc(#loc3)
      %24 = llvm.sext %23 : i32 to i64 loc(#loc2)
      %25 = llvm.icmp "sgt" %24, %5 : i64 loc(#loc2)
      %26 = nvvm.vote.sync ballot %7, %25 -> i32 loc(#loc2) //~ PTX403
      %27 = llvm.icmp "slt" %24, %6 : i64 loc(#loc2)
      %28 = llvm.add %24, %arg3 : i64 loc(#loc2)
      %29 = llvm.select %27, %28, %24 : i1, i64 loc(#loc2)
      %30 = llvm.getelementptr %arg1[%arg2] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc2)
      %31 = llvm.mul %29, %arg4 overflow<nsw, nuw> : i64 loc(#loc2)
      %32 = llvm.getelementptr inbounds|nuw %30[%31] : (!llvm.ptr, i64) -> !llvm.ptr, i32 loc(#loc2)
      llvm.store %26, %32 : i32, !llvm.ptr loc(#loc2)
      llvm.return loc(#loc2)
    } loc(#loc4)
  } loc(#loc4)
} loc(#loc4)
#loc1 = loc(unknown)
#loc2 = loc("kern.py":29:0)
#loc3 = loc("kern.py":28:0)
