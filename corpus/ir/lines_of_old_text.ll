; why: typed pointers, blocks without labels, and intrinsics that LLVM rewrites on reading: fewer or more instructions.
target datalayout = "e-i64:64-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%S = type { i32, i8* }

declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.dbg.value(metadata, i64, metadata, metadata)
declare i32 @llvm.nvvm.abs.i(i32)
declare i32 @llvm.nvvm.max.i(i32, i32)
declare i32 @printed(i8*, ...)

define void @k(%S addrspace(1)* %s, i32 %n) {
  %1 = getelementptr inbounds %S, %S addrspace(1)* %s, i32 0, i32 0
  %2 = load i32, i32 addrspace(1)* %1, align 8
  %3 = icmp sgt i32 %2, %n
  br i1 %3, label %5, label %4

; <label>:4                                       ; preds = %0
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  %t = call i32 (i8*, ...) @printed(i8* null, i32 %2)
  br label %5

; <label>:5                                       ; preds = %4, %0
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  %6 = call i32 @llvm.nvvm.abs.i(i32 %2)
  %7 = call i32 @llvm.nvvm.max.i(i32 %6, i32 %n)
  store i32 %7, i32 addrspace(1)* %1, align 8
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{void (%S addrspace(1)*, i32)* @k, !"kernel", i32 1}
