; why: MLIR gives a shuffle among fewer than 32 lanes a mask with the lanes of the first group, and all groups execute it
; (what convert-gpu-to-nvvm and mlir-translate of LLVM 22 make of two kernels with `gpu.shuffle`, widths 8 and 32)
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @eighths(ptr %0, ptr %1) {
  %3 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = sext i32 %3 to i64
  %5 = getelementptr float, ptr %0, i64 %4
  %6 = load float, ptr %5, align 4
  %7 = call float @llvm.nvvm.shfl.sync.down.f32(i32 255, float %6, i32 4, i32 7) ; //~ PTX403
  %8 = getelementptr float, ptr %1, i64 %4
  store float %7, ptr %8, align 4
  ret void
}

define ptx_kernel void @wholes(ptr %0, ptr %1) {
  %3 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = sext i32 %3 to i64
  %5 = getelementptr float, ptr %0, i64 %4
  %6 = load float, ptr %5, align 4
  %7 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %6, i32 4, i32 31)
  %8 = getelementptr float, ptr %1, i64 %4
  store float %7, ptr %8, align 4
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
