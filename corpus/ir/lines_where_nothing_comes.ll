; why: blocks behind a constant, and behind a condition that a branch before has decided, are never executed
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [64 x i8] undef, align 16

declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)

define ptx_kernel void @executed(ptr %out, i1 %any) {
  %at = addrspacecast ptr addrspacecast (ptr addrspace(3) @tile to ptr) to ptr addrspace(1) ; //~ PTX202
  store i32 1, ptr addrspace(1) %at
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  ret void
}

define ptx_kernel void @constant() {
  br i1 false, label %dead, label %end
dead:
  %at = addrspacecast ptr addrspacecast (ptr addrspace(3) @tile to ptr) to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %at
  store i32 1, ptr null
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  %moved = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 1, i32 0, i32 2079)
  br label %end
end:
  ret void
}

define ptx_kernel void @no_way_there() {
  ret void
dead:
  %at = addrspacecast ptr addrspacecast (ptr addrspace(3) @tile to ptr) to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %at
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  ret void
}

define ptx_kernel void @decided_before(i1 %any) {
  br i1 %any, label %end, label %other
other:
  %not = xor i1 %any, true
  br i1 %not, label %end, label %dead
dead:
  %at = addrspacecast ptr addrspacecast (ptr addrspace(3) @tile to ptr) to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %at
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  br label %end
end:
  ret void
}

define ptx_kernel void @kept_on_the_stack(i32 %n) {
  %slot = alloca i32, align 4
  store i32 0, ptr %slot, align 4
  %flag = load i32, ptr %slot, align 4
  store i32 %n, ptr %slot, align 4
  %is_set = icmp ne i32 %flag, 0
  br i1 %is_set, label %dead, label %end
dead:
  %at = addrspacecast ptr addrspacecast (ptr addrspace(3) @tile to ptr) to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %at
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  br label %end
end:
  ret void
}

define internal void @recursive(i1 %any) noinline {
  %never = and i1 %any, false
  br i1 %never, label %again, label %end
again:
  call void @recursive(i1 %any)
  br label %end
end:
  ret void
}

define ptx_kernel void @calls(i1 %any) {
  call void @recursive(i1 %any)
  ret void
}
