; why: floating-point constants as LLVM 23 writes them, and what Triton does where a mask leaves nothing.
target triple = "nvptx64-nvidia-cuda"

@scales = addrspace(4) constant [3 x float] [float 1.100000e-01, float +inf, float -qnan], align 4
@text = addrspace(4) constant [4 x i8] c"+1.5", align 1

declare float @llvm.nvvm.fma.rn.ftz.f(float, float, float)
declare void @llvm.nvvm.bar.warp.sync(i32)

define ptx_kernel void @k(ptr addrspace(1) %p, float %x, i1 %c) {
  %y = call float @llvm.nvvm.fma.rn.ftz.f(float %x, float 5.724980e-03, float f0x3FB8AA3B)
  %inf = fcmp oeq float %y, -inf
  br i1 %inf, label %a, label %b

a:
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  br label %b

b:
  %z = phi float [ +nan(0x12), %a ], [ -1.300000e+00, %0 ]
  %a.1.5 = fmul <2 x float> <float 3.100000e-01, float f0x3FB8AA3B>, <float -snan(0x1), float 2.300000e+00>
  store float %z, ptr addrspace(1) %p, align 4
  store <2 x float> %a.1.5, ptr addrspace(1) %p, align 8
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  ret void
}

define ptx_kernel void @masked(ptr addrspace(3) %s) {
  %g = addrspacecast ptr addrspace(3) %s to ptr
  call void asm sideeffect "@$2 st.global.b16 [ $1 + 0 ], { $0 };", "c,l,b"(i16 0, ptr %g, i1 false)
  call void asm sideeffect "@$2 st.global.b16 [ $1 + 0 ], { $0 };", "c,l,b"(i16 0, ptr %g, i1 true) ; //~ PTX201
  ret void
}
