; why: code for other targets is not there where the module says which one it is for
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@name = private unnamed_addr addrspace(4) constant [12 x i8] c"__CUDA_ARCH\00"
@flush = private unnamed_addr addrspace(4) constant [11 x i8] c"__CUDA_FTZ\00"

declare i32 @__nvvm_reflect(ptr)
declare i32 @llvm.nvvm.shfl.down.i32(i32, i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)

define ptx_kernel void @old(ptr %out) #0 {
  %arch = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(4) @name to ptr))
  %is_old = icmp ult i32 %arch, 700
  br i1 %is_old, label %then, label %else

then:
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  %moved = call i32 @llvm.nvvm.shfl.down.i32(i32 1, i32 2, i32 31)
  %gone = load i32, ptr addrspacecast (ptr addrspace(3) null to ptr)
  store i32 %moved, ptr %out
  br label %end

else:
  call void @llvm.nvvm.bar.warp.sync(i32 0) ; //~ PTX407
  br label %end

end:
  %which = phi i32 [ %arch, %then ], [ 1, %else ]
  store i32 %which, ptr %out
  ret void
}

define ptx_kernel void @any(ptr %out) #0 {
  %ftz = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(4) @flush to ptr))
  %is_on = icmp ne i32 %ftz, 0
  br i1 %is_on, label %then, label %end

then:
  %moved = call i32 @llvm.nvvm.shfl.down.i32(i32 1, i32 2, i32 31) ; //~ PTX408
  store i32 %moved, ptr %out
  br label %end

end:
  ret void
}

attributes #0 = { "target-cpu"="sm_90" }
