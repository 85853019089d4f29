; why: what assembly outside functions declares and defines counts: `later` alone is left open.
; ptxcheck-args: --whole-program
target triple = "nvptx64-nvidia-cuda"

module asm ".visible .func defined(.param .b32 x) { ret; }"
module asm ".visible .global .u32 counter;"
module asm ".extern .func later();"

@counter = external addrspace(1) global i32
declare void @defined(i32)
declare void @later()

define ptx_kernel void @k() {
  call void @defined(i32 1)
  call void @later() ; //~ PTX105
  store i32 1, ptr addrspace(1) @counter
  ret void
}
