; why: the address of a constant whose value is known and that is not defined, as clang -O0 leaves static members
; ptxcheck-args: -W potential
target triple = "nvptx64-nvidia-cuda"

@_ZN1S3lowE = available_externally dso_local addrspace(4) constant i32 5, align 4
@_ZN1S4highE = available_externally dso_local addrspace(4) constant i32 9, align 4
@_ZN1T3lowE = linkonce_odr dso_local addrspace(4) constant i32 6, align 4

define linkonce_odr i32 @larger(ptr %a, ptr %b) {
  %x = load i32, ptr %a, align 4
  %y = load i32, ptr %b, align 4
  %is_less = icmp slt i32 %x, %y
  %z = select i1 %is_less, i32 %y, i32 %x
  ret i32 %z
}

define ptx_kernel void @k(ptr %out, i32 %i) {
  %here = alloca i32, align 4
  store i32 %i, ptr %here, align 4
  %x = call i32 @larger(ptr addrspacecast (ptr addrspace(4) @_ZN1S3lowE to ptr), ptr %here) ; //~ PTX102?
  %y = load i32, ptr addrspacecast (ptr addrspace(4) @_ZN1S4highE to ptr), align 4
  %z = call i32 @larger(ptr addrspacecast (ptr addrspace(4) @_ZN1T3lowE to ptr), ptr %here)
  %sum = add i32 %x, %y
  %all = add i32 %sum, %z
  store i32 %all, ptr %out, align 4
  ret void
}

!llvm.module.flags = !{!0}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
