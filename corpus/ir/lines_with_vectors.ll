; why: a mask and a pointer keep their values through vectors, structures and memory that a call passes.
target triple = "nvptx64-nvidia-cuda"

%Pair = type { ptr, i32 }

declare void @llvm.nvvm.bar.warp.sync(i32)

define ptx_kernel void @masks(i1 %c, <2 x i32> %v) {
  %a = insertelement <2 x i32> %v, i32 0, i32 1
  %b = insertelement <2 x i32> <i32 0, i32 -1>, i32 -1, i32 0
  %swapped = shufflevector <2 x i32> %b, <2 x i32> <i32 0, i32 1>, <2 x i32> <i32 2, i32 1>
  %zero = extractelement <2 x i32> %swapped, i32 0
  call void @llvm.nvvm.bar.warp.sync(i32 %zero) ; //~ PTX407
  %full = extractelement <2 x i32> %swapped, i32 1
  call void @llvm.nvvm.bar.warp.sync(i32 %full)
  br i1 %c, label %then, label %join

then:
  br label %join

join:
  %joined = phi <2 x i32> [ %swapped, %then ], [ zeroinitializer, %0 ]
  %same = extractelement <2 x i32> %joined, i64 0
  call void @llvm.nvvm.bar.warp.sync(i32 %same) ; //~ PTX407
  %other = extractelement <2 x i32> %joined, i64 1
  call void @llvm.nvvm.bar.warp.sync(i32 %other)
  %unknown = extractelement <2 x i32> %a, i32 0
  call void @llvm.nvvm.bar.warp.sync(i32 %unknown)
  ret void
}

define internal %Pair @made(ptr %p) {
  %x = insertvalue %Pair poison, ptr %p, 0
  %y = insertvalue %Pair %x, i32 1, 1
  ret %Pair %y
}

define internal void @used(ptr byval(%Pair) align 8 %pair) {
  %p = load ptr, ptr %pair
  %shared = addrspacecast ptr %p to ptr addrspace(3) ; //~ PTX202
  store i32 1, ptr addrspace(3) %shared
  ret void
}

define ptx_kernel void @pointers(ptr addrspace(1) %p) {
  %own = alloca %Pair
  %generic = addrspacecast ptr addrspace(1) %p to ptr
  %pair = call %Pair @made(ptr %generic)
  %first = extractvalue %Pair %pair, 0
  %shared = addrspacecast ptr %first to ptr addrspace(3) ; //~ PTX202
  store i32 1, ptr addrspace(3) %shared
  store ptr %generic, ptr %own
  call void @used(ptr byval(%Pair) align 8 %own)
  ret void
}
