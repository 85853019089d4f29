; why: text without debug information has lines of its own, through comments, strings, labels and broken lines.
source_filename = "define void @not_this(ptr %p) {"
target triple = "nvptx64-nvidia-cuda"

%Pair = type { i32, { i32, i32 } }
@text = private constant [5 x i8] c"a;\22}\00" ; call void @llvm.nvvm.bar.warp.sync(i32 0)
@"a name" = external addrspace(1) global i32

declare void @llvm.nvvm.bar.warp.sync(i32) #0
declare i32 @"another name"(%Pair)

define ptx_kernel void @"in quotes"(ptr addrspace(1) %p, i32 %n) #1 {
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  switch i32 %n, label %other [
    i32 0, label %"a label"
    i32 1, label %other
  ], !note !0

"a label":                                        ; preds = %0
  %generic = addrspacecast ptr addrspace(1) %p to ptr
  %shared = addrspacecast ptr %generic to ptr addrspace(3) ; //~ PTX202
  store i32 1, ptr addrspace(3) %shared, align 4
  br label %other

other:
  %1 = call i32 asm sideeffect "{
  mov.u32 $0, 1; // }
}", "=r"()
  tail call void @llvm.nvvm.bar.warp.sync(i32 0), !note !0 ; //~ PTX407
  ret void
}

define ptx_kernel void @second() {
  ; } "
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  ret void
}

attributes #0 = { convergent nounwind }
attributes #1 = { nounwind "a;}"="{" }
!0 = !{!"define void @k() {", i32 1}
