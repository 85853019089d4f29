; ptxcheck-args: -W conditional
; why: `llvm.assume` says that a count is a multiple of 32: a witness with another count is none; without it one is found
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @assumed(ptr %in, ptr %out, i32 %n) {
entry:
  %rest = and i32 %n, 31
  %whole = icmp eq i32 %rest, 0
  call void @llvm.assume(i1 %whole)
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  br label %head
head:
  %i = phi i32 [ %lane, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %done
body:
  %at = sext i32 %i to i64
  %from = getelementptr i32, ptr %in, i64 %at
  %x = load i32, ptr %from, align 4
  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 1, i32 31)
  %to = getelementptr i32, ptr %out, i64 %at
  store i32 %y, ptr %to, align 4
  %next = add i32 %i, 32
  br label %head
done:
  ret void
}

define ptx_kernel void @not_assumed(ptr %in, ptr %out, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  br label %head
head:
  %i = phi i32 [ %lane, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %done
body:
  %at = sext i32 %i to i64
  %from = getelementptr i32, ptr %in, i64 %at
  %x = load i32, ptr %from, align 4
  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 1, i32 31) ; //~ PTX404?
  %to = getelementptr i32, ptr %out, i64 %at
  store i32 %y, ptr %to, align 4
  %next = add i32 %i, 32
  br label %head
done:
  ret void
}

declare void @llvm.assume(i1)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
