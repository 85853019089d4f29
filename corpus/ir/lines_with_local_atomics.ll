; why: LLVM makes a plain load and store of an atomicrmw on a local variable that it sees, and of nothing else
; ptxcheck-args: -W potential
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @own(ptr %out, i32 %i) {
  %local = alloca [4 x i32], align 4
  %at = getelementptr i32, ptr %local, i32 %i
  %old = atomicrmw add ptr %at, i32 1 seq_cst ; //~ PTX201?
  %pair = cmpxchg ptr %at, i32 1, i32 2 seq_cst seq_cst ; //~ PTX201
  store i32 %old, ptr %out
  ret void
}

define internal void @bump(ptr %p) noinline {
  %old = atomicrmw add ptr %p, i32 1 seq_cst ; //~ PTX201
  ret void
}

define ptx_kernel void @passed() {
  %local = alloca i32, align 4
  call void @bump(ptr %local)
  ret void
}
