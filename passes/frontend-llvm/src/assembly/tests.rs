use super::super::with_module;
use ptxcheck_ir::{Body, Instruction, Op};

/// The lowering of a function that calls this assembly with two numbers: its instructions between parameters and return, and true
/// if each of its registers is written once.
fn lowered(text: &str, constraints: &str) -> (Vec<String>, bool) {
    let module = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
define i32 @f(i32 %a, i32 %b) {{
  %r = call i32 asm \"{text}\", \"{constraints}\"(i32 %a, i32 %b)
  ret i32 %r
}}
"
    );
    let seen = |body: &Body<'_>| {
        let is_own = |one: &&Instruction| !matches!(one.op, Op::Access(_) | Op::Return);
        let names = body.instructions.iter().filter(is_own).map(|one| match one.op {
            Op::Binary(op, _) => format!("{op:?}"),
            op => format!("{op:?}"),
        });
        let mut written = vec![0; body.registers.len()];
        for register in body.instructions.iter().flat_map(|one| body.defined(one)) {
            written[register.index()] += 1;
        }
        (names.collect(), written.iter().all(|times| *times == 1))
    };
    with_module(module.as_bytes(), |module| {
        let (_, _, body) = module.bodies().next().unwrap();
        seen(body)
    })
    .unwrap()
}

#[test]
fn what_is_only_read_or_written_once_needs_no_copy() {
    let (instructions, is_single) = lowered("add.u32 $0, $1, $2;", "=r,r,r");
    assert_eq!(instructions, ["Add"]);
    assert!(is_single);
}

#[test]
fn an_input_that_is_written_is_copied() {
    let (instructions, is_single) = lowered("add.u32 $1, $1, $2; mov.u32 $0, $1;", "=r,r,r");
    assert_eq!(instructions, ["Copy", "Add", "Copy"]);
    // The copy is written again, and the value that it is a copy of is not.
    assert!(!is_single);
}

#[test]
fn an_output_that_may_not_be_written_is_copied() {
    let text = "{ .reg .pred p; setp.eq.u32 p, $1, $2; @p mov.u32 $0, 1; }";
    let (instructions, is_single) = lowered(text, "=r,r,r");
    assert_eq!(instructions.last().unwrap(), "Copy");
    assert_eq!(instructions.len(), 3);
    assert!(is_single);
    let (instructions, _) = lowered("mov.u32 $0, $1; mov.u32 $0, $2;", "=r,r,r");
    assert_eq!(instructions, ["Copy", "Copy", "Copy"]);
}

#[test]
fn an_input_that_is_tied_to_an_output_is_copied() {
    let (instructions, _) = lowered("add.u32 $0, $0, $2;", "=r,0,r");
    // Into the output's register, and from there to its second name.
    assert_eq!(instructions, ["Copy", "Copy", "Add", "Copy"]);
}
