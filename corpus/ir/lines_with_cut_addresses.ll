; why: a generic address is cut to 32 bits with a mask, and used as one in the window of shared memory
; ptxcheck-args: -W potential:PTX204
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [32 x i32] undef, align 4

define ptx_kernel void @k(ptr %out) {
  %generic = addrspacecast ptr addrspace(3) @tile to ptr
  %number = ptrtoint ptr %generic to i64
  %low = and i64 %number, 4294967295
  %window = inttoptr i64 %low to ptr addrspace(3)
  %x = load i32, ptr addrspace(3) %window, align 4 ; //~ PTX204? PTX212
  %y = load i32, ptr addrspace(3) @tile, align 4
  %z = add i32 %x, %y
  store i32 %z, ptr %out, align 4
  ret void
}
