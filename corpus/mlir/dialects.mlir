// why: kernels in each dialect that is lowered, and right
// only-in-mlir: the pipeline that MLIR's tools have does not lower views of memory
#map = affine_map<(d0) -> (d0 * 2)>
gpu.module @dialects [#nvvm.target<chip = "sm_90">] {
  memref.global "private" @tile : memref<64xf32, #gpu.address_space<workgroup>>

  func.func private @helper(%x: f32) -> f32 {
    %y = math.exp %x : f32
    return %y : f32
  }

  gpu.func @affine_and_memref(%in: memref<128x64xf32>, %out: memref<128x64xf32>) kernel {
    %t = gpu.thread_id x
    %i = affine.apply #map(%t)
    affine.for %j = 0 to 64 step 4 {
      %v = memref.load %in[%i, %j] : memref<128x64xf32>
      memref.store %v, %out[%i, %j] : memref<128x64xf32>
    }
    %row = memref.subview %in[%t, 0] [1, 64] [1, 1] : memref<128x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    %c0 = arith.constant 0 : index
    %first = memref.load %row[%c0, %c0] : memref<1x64xf32, strided<[64, 1], offset: ?>>
    memref.store %first, %out[%t, %c0] : memref<128x64xf32>
    gpu.return
  }

  gpu.func @cf_complex_index(%c: i1, %out: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %one = index.constant 1
    %n = index.add %t, %one
    %re = arith.constant 1.0 : f32
    %z = complex.create %re, %re : complex<f32>
    %zz = complex.mul %z, %z : complex<f32>
    %im = complex.im %zz : complex<f32>
    cf.cond_br %c, ^store(%im : f32), ^other
  ^other:
    %p = ub.poison : f32
    %h = func.call @helper(%re) : (f32) -> f32
    cf.br ^store(%h : f32)
  ^store(%v: f32):
    memref.store %v, %out[%n] : memref<64xf32>
    gpu.return
  }

  gpu.func @scf_and_math(%n: index, %out: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
      %s = math.sqrt %acc : f32
      scf.yield %s : f32
    }
    %r = scf.while (%a = %sum) : (f32) -> f32 {
      %go = arith.cmpf olt, %a, %zero : f32
      scf.condition(%go) %a : f32
    } do {
    ^body(%a: f32):
      %b = math.tanh %a : f32
      scf.yield %b : f32
    }
    memref.store %r, %out[%t] : memref<64xf32>
    gpu.return
  }

  gpu.func @shared_and_vector(%in: memref<64xf32>, %out: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %tile = memref.get_global @tile : memref<64xf32, #gpu.address_space<workgroup>>
    %v = memref.load %in[%t] : memref<64xf32>
    memref.store %v, %tile[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %four = vector.transfer_read %in[%c0], %zero : memref<64xf32>, vector<4xf32>
    %sum = vector.reduction <add>, %four : vector<4xf32> into f32
    memref.store %sum, %out[%t] : memref<64xf32>
    gpu.return
  }

  gpu.func @copies(%in: memref<64xf32>, %out: memref<64xf32>) workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %token = nvgpu.device_async_copy %in[%t], %tile[%t], 1 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    %group = nvgpu.device_async_create_group %token
    nvgpu.device_async_wait %group
    gpu.barrier
    %v = memref.load %tile[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %v, %out[%t] : memref<64xf32>
    gpu.printf "%d\n", %t : index
    gpu.return
  }
}
