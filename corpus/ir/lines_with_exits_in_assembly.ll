; ptxcheck-args: -W potential
; why: lanes that inline assembly ends, or sends out of the function, take part in nothing that follows
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @guarded_exit() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p, $0, 16; @p exit; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  ret void
}

define ptx_kernel void @guarded_exit_of_too_few() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p, $0, 17; @p exit; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403
  ret void
}

define ptx_kernel void @guarded_ret() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 16; @!p ret; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  ret void
}

define ptx_kernel void @guarded_trap() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 16; @!p trap; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  ret void
}

; The lanes that are left after both.
define ptx_kernel void @two_exits() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 8; @p exit; setp.ge.u32 p, $0, 16; @p exit; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65280)
  call void @llvm.nvvm.bar.warp.sync(i32 15) ; //~ PTX403
  ret void
}

; Around `exit` by a branch, with a label of its own.
define ptx_kernel void @branch_around_exit() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 16; @p bra DONE; exit; DONE: }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  ret void
}

; Nothing follows what ends all lanes.
define ptx_kernel void @exit_of_all() {
  call void asm sideeffect "exit;", ""()
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  ret void
}

define ptx_kernel void @return_of_all() {
  call void asm sideeffect "{ bra OUT; OUT: ret; }", ""()
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  ret void
}

define ptx_kernel void @trap_of_all() {
  call void asm sideeffect "trap;", ""()
  call void @llvm.nvvm.bar.warp.sync(i32 0)
  ret void
}

; In a function: `exit` ends the lanes of its callers, `ret` only leaves it.
define internal void @ends_upper(i32 %l) {
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p, $0, 16; @p exit; }", "r"(i32 %l)
  ret void
}

define internal void @leaves_upper(i32 %l) {
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p, $0, 16; @p ret; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  ret void
}

define ptx_kernel void @calls() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void @leaves_upper(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @ends_upper(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  ret void
}

define ptx_kernel void @calls_and_all_come_back() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void @leaves_upper(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403
  ret void
}

; Collectives and barriers of the assembly itself.
define ptx_kernel void @under_guards(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 16; @p bar.warp.sync 65535; }", "r"(i32 %l)
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 16; @p bar.warp.sync 255; }", "r"(i32 %l) ; //~ PTX403
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $0, 16; @p bar.sync 0; }", "r"(i32 %l) ; //~ PTX411
  store i32 %l, ptr addrspace(1) %out ; //~ PTX417?
  ret void
}

; A value that the assembly writes behind an exit.
define ptx_kernel void @value_behind_exit(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  %m = call i32 asm sideeffect "{ .reg .pred p; mov.u32 $0, 65535; setp.ge.u32 p, $1, 16; @p exit; mov.u32 $0, 255; }", "=r,r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 %m) ; //~ PTX403
  ret void
}

; What is no PTX, or goes to a label of someone else, may end lanes.
define ptx_kernel void @unreadable() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p $0, 16; @p exit; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403?
  ret void
}

define ptx_kernel void @too_few_operands() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p, $0; @p exit; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403?
  ret void
}

define ptx_kernel void @label_elsewhere() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void asm sideeffect "{ .reg .pred p; setp.ge.u32 p, $0, 16; @p bra ELSEWHERE; }", "r"(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403?
  call void asm sideeffect "ELSEWHERE:", ""()
  ret void
}

define internal void @may_end(i32 %l) {
  call void asm sideeffect "{ exit if upper }", "r"(i32 %l)
  ret void
}

define ptx_kernel void @calls_what_is_unreadable() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void @may_end(i32 %l)
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403?
  ret void
}

; What is certain in front of it stays.
define ptx_kernel void @in_front_of_it() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %l = and i32 %t, 31
  call void @llvm.nvvm.bar.warp.sync(i32 65535) ; //~ PTX403
  call void asm sideeffect "{ exit if upper }", "r"(i32 %l)
  ret void
}
