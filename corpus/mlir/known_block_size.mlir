// why: `known_block_size` is exact, as `.reqntid` is, although MLIR translates it to `.maxntid`; `nvvm.reqntid` is, too
// only-in-mlir: the PTX has `.maxntid` of the first kernel
gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
  gpu.func @of_gpu(%in: memref<48xf32>, %out: memref<48xf32>) kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<48xf32>
    %offset = arith.constant 16 : i32
    %width = arith.constant 32 : i32
    %s, %ok = gpu.shuffle down %v, %offset, %width : f32 //~ PTX404
    memref.store %s, %out[%t] : memref<48xf32>
    gpu.return
  }

  llvm.func @of_llvm(%out: !llvm.ptr) attributes {nvvm.kernel, gpu.known_block_size = array<i32: 48, 1, 1>} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    %offset = llvm.mlir.constant(16 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %s = nvvm.shfl.sync down %all, %t, %offset, %clamp : i32 -> i32 //~ PTX404
    llvm.store %s, %out : i32, !llvm.ptr
    llvm.return
  }

  llvm.func @of_nvvm(%out: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 48, 1, 1>} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    %offset = llvm.mlir.constant(16 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %s = nvvm.shfl.sync down %all, %t, %offset, %clamp : i32 -> i32 //~ PTX404
    llvm.store %s, %out : i32, !llvm.ptr
    llvm.return
  }

  gpu.func @whole_warps(%in: memref<64xf32>, %out: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<64xf32>
    %offset = arith.constant 16 : i32
    %width = arith.constant 32 : i32
    %s, %ok = gpu.shuffle down %v, %offset, %width : f32
    memref.store %s, %out[%t] : memref<64xf32>
    gpu.return
  }
}
