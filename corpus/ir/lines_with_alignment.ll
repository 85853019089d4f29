; why: an access says how its address is aligned, and is taken apart where that is less than its size; objects have no
; names; elements of odd sizes are packed in vectors
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%Packed = type <{ i8, i32, i16 }>

@table = addrspace(1) global [8 x i64] zeroinitializer, align 16

define ptx_kernel void @inside(ptr %0) {
  %2 = alloca [128 x i8], align 16
  %3 = getelementptr i8, ptr %2, i64 57
  store i16 128, ptr %3, align 1
  %4 = load i16, ptr %3, align 1
  %5 = getelementptr i8, ptr %2, i64 4
  %6 = load <4 x i32>, ptr %5, align 4
  %7 = extractelement <4 x i32> %6, i32 0
  %8 = load i24, ptr %5, align 4
  store i16 %4, ptr %0
  store i32 %7, ptr %0
  store i24 %8, ptr %0
  ret void
}

define ptx_kernel void @misaligned(ptr %0) {
  %2 = alloca [128 x i8], align 16
  %3 = getelementptr i8, ptr %2, i64 57
  store i16 128, ptr %3, align 2 ; //~ PTX211
  %4 = getelementptr i8, ptr %2, i64 2
  %5 = load <4 x i32>, ptr %4, align 4 ; //~ PTX211
  %6 = load <3 x i32>, ptr %4, align 16 ; //~ PTX211
  %7 = load i32, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @table, i64 6), align 2
  %8 = load i32, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @table, i64 6), align 4 ; //~ PTX211
  %9 = extractelement <4 x i32> %5, i32 0
  %10 = extractelement <3 x i32> %6, i32 0
  store i32 %9, ptr %0
  store i32 %10, ptr %0
  store i32 %7, ptr %0
  store i32 %8, ptr %0
  ret void
}

define ptx_kernel void @outside(ptr byval([8 x i8]) align 8 %0) {
  %2 = alloca [128 x i8], align 16
  %3 = getelementptr i8, ptr %2, i64 127
  store i16 128, ptr %3, align 1 ; //~ PTX211
  %4 = getelementptr i8, ptr %0, i64 7
  %5 = load i16, ptr %4, align 1 ; //~ PTX211
  store i16 %5, ptr %2
  ret void
}

define ptx_kernel void @packed(ptr %0) {
  %2 = alloca <8 x i1>, align 1
  store <8 x i1> <i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0>, ptr %2, align 1
  %3 = load <8 x i1>, ptr %2, align 1
  %4 = extractelement <8 x i1> %3, i32 2
  %5 = alloca <4 x i12>, align 2
  %6 = load <4 x i12>, ptr %5, align 2
  %7 = extractelement <4 x i12> %6, i32 2
  store i1 %4, ptr %0
  store i12 %7, ptr %0
  %8 = getelementptr i8, ptr %2, i64 1
  store i1 %4, ptr %8 ; //~ PTX211
  ret void
}

define internal void @takes(ptr byval(%Packed) align 1 %0) {
  %2 = getelementptr i8, ptr %0, i64 1
  %3 = load i32, ptr %2, align 1
  store i32 %3, ptr addrspace(1) @table
  ret void
}

define ptx_kernel void @passes() {
  %1 = alloca %Packed, align 8
  store %Packed <{ i8 1, i32 2, i16 3 }>, ptr %1, align 8
  call void @takes(ptr byval(%Packed) align 1 %1)
  ret void
}
