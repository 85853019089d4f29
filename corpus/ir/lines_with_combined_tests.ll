; why: what a branch says of an address, through the ways in which LLVM combines conditions
; ptxcheck-args: -W potential
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [64 x i8] undef, align 16

declare i1 @llvm.nvvm.isspacep.shared(ptr)

define ptx_kernel void @both(ptr %out, i1 %own, i1 %wanted) {
  %any = select i1 %own, ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %out
  %is_shared = call i1 @llvm.nvvm.isspacep.shared(ptr %any)
  %is_both = select i1 %is_shared, i1 %wanted, i1 false
  br i1 %is_both, label %near, label %end
near:
  %at = addrspacecast ptr %any to ptr addrspace(3)
  store i32 1, ptr addrspace(3) %at
  br label %end
end:
  ret void
}

define ptx_kernel void @neither(ptr %out, i1 %own, i1 %unwanted) {
  %any = select i1 %own, ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %out
  %is_shared = call i1 @llvm.nvvm.isspacep.shared(ptr %any)
  %is_other = xor i1 %is_shared, true
  %is_either = select i1 %unwanted, i1 true, i1 %is_other
  br i1 %is_either, label %end, label %near
near:
  %at = addrspacecast ptr %any to ptr addrspace(3)
  store i32 1, ptr addrspace(3) %at
  br label %end
end:
  ret void
}

; One of two that may each be enough says nothing.
define ptx_kernel void @either(ptr %out, i1 %own, i1 %wanted) {
  %any = select i1 %own, ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %out
  %is_shared = call i1 @llvm.nvvm.isspacep.shared(ptr %any)
  %is_either = select i1 %is_shared, i1 true, i1 %wanted
  br i1 %is_either, label %near, label %end
near:
  %at = addrspacecast ptr %any to ptr addrspace(3) ; //~ PTX202?
  store i32 1, ptr addrspace(3) %at
  br label %end
end:
  ret void
}
