// why: an operation that becomes ten shuffles has one finding
// ptxcheck-args: -W potential
gpu.module @reductions [#nvvm.target<chip = "sm_90">] {
  gpu.func @some(%in: memref<64xf32>, %out: memref<64xf32>, %c: i1) kernel {
    %t = gpu.thread_id x
    %v = memref.load %in[%t] : memref<64xf32>
    %c16 = arith.constant 16 : index
    %first = arith.cmpi ult, %t, %c16 : index
    scf.if %first {
      %s = gpu.all_reduce add %v uniform {} : (f32) -> f32 //~ PTX402? PTX411?
      memref.store %s, %out[%t] : memref<64xf32>
    }
    gpu.barrier
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.return
  }
}
