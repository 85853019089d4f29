// why: a barrier that the index of the thread decides about, and one that all threads reach
// ptxcheck-args: -W potential
gpu.module @barriers [#nvvm.target<chip = "sm_80">] {
  gpu.func @some(%out: memref<256xf32>) kernel {
    %t = gpu.thread_id x
    %c = arith.constant 32 : index
    %first = arith.cmpi ult, %t, %c : index
    %one = arith.constant 1.0 : f32
    scf.if %first {
      gpu.barrier //~ PTX411?
      memref.store %one, %out[%t] : memref<256xf32>
    }
    gpu.barrier
    gpu.return
  }

  gpu.func @all(%out: memref<256xf32>, %n: index) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    scf.for %i = %c0 to %n step %c1 {
      gpu.barrier
      memref.store %one, %out[%t] : memref<256xf32>
    }
    gpu.return
  }
}
