// why: constant sizes of launches are known shapes: what is wrong under each of them is definite
// only-in-mlir: PTX does not have the sizes of launches
module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
    // 48 threads: the second warp has 16.
    gpu.func @one_size(%in: memref<48xf32>, %out: memref<48xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<48xf32>
      %offset = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %s, %ok = gpu.shuffle down %v, %offset, %width : f32 //~ PTX404
      memref.store %s, %out[%t] : memref<48xf32>
      gpu.return
    }

    // Wrong with 48 threads and with 16.
    gpu.func @two_wrong_sizes(%in: memref<48xf32>, %out: memref<48xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<48xf32>
      %offset = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %s, %ok = gpu.shuffle down %v, %offset, %width : f32 //~ PTX404
      memref.store %s, %out[%t] : memref<48xf32>
      gpu.return
    }

    // Wrong with 48 threads, and right with 64.
    gpu.func @one_of_two_sizes(%in: memref<64xf32>, %out: memref<64xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<64xf32>
      %offset = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %s, %ok = gpu.shuffle down %v, %offset, %width : f32
      memref.store %s, %out[%t] : memref<64xf32>
      gpu.return
    }

    // One launch of 48 threads, and one of which nothing is known.
    gpu.func @any_size(%in: memref<64xf32>, %out: memref<64xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<64xf32>
      %offset = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %s, %ok = gpu.shuffle down %v, %offset, %width : f32
      memref.store %s, %out[%t] : memref<64xf32>
      gpu.return
    }

    // The kernel's own size wins over that of a launch.
    gpu.func @own_size(%in: memref<64xf32>, %out: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<64xf32>
      %offset = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %s, %ok = gpu.shuffle down %v, %offset, %width : f32
      memref.store %s, %out[%t] : memref<64xf32>
      gpu.return
    }
  }

  func.func @host(%in48: memref<48xf32>, %in64: memref<64xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@one_size blocks in (%c1, %c1, %c1) threads in (%c48, %c1, %c1)
        args(%in48 : memref<48xf32>, %in48 : memref<48xf32>)
    gpu.launch_func @kernels::@two_wrong_sizes blocks in (%c1, %c1, %c1) threads in (%c48, %c1, %c1)
        args(%in48 : memref<48xf32>, %in48 : memref<48xf32>)
    gpu.launch_func @kernels::@two_wrong_sizes blocks in (%c1, %c1, %c1) threads in (%c16, %c1, %c1)
        args(%in48 : memref<48xf32>, %in48 : memref<48xf32>)
    gpu.launch_func @kernels::@one_of_two_sizes blocks in (%c1, %c1, %c1) threads in (%c48, %c1, %c1)
        args(%in64 : memref<64xf32>, %in64 : memref<64xf32>)
    gpu.launch_func @kernels::@one_of_two_sizes blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%in64 : memref<64xf32>, %in64 : memref<64xf32>)
    gpu.launch_func @kernels::@any_size blocks in (%c1, %c1, %c1) threads in (%c48, %c1, %c1)
        args(%in64 : memref<64xf32>, %in64 : memref<64xf32>)
    gpu.launch_func @kernels::@any_size blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
        args(%in64 : memref<64xf32>, %in64 : memref<64xf32>)
    gpu.launch_func @kernels::@own_size blocks in (%c1, %c1, %c1) threads in (%c48, %c1, %c1)
        args(%in64 : memref<64xf32>, %in64 : memref<64xf32>)
    return
  }
}

// -----

// A body that is outlined is launched here alone.
func.func @outlined(%in: memref<48xf32>, %out: memref<48xf32>) {
  %c1 = arith.constant 1 : index
  %c48 = arith.constant 48 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c48, %sy = %c1, %sz = %c1) {
    %v = memref.load %in[%tx] : memref<48xf32>
    %offset = arith.constant 16 : i32
    %width = arith.constant 32 : i32
    %s, %ok = gpu.shuffle down %v, %offset, %width : f32 //~ PTX404
    memref.store %s, %out[%tx] : memref<48xf32>
    gpu.terminator
  }
  return
}
