use super::super::with_module;
use ptxcheck_ir::{Body, Op, Register, Value};

/// The one definition of a register, followed through copies, conversions and selects to what it is: numbers, and
/// `?` for what is not followed.
fn traced(body: &Body<'_>, value: Value, depth: usize) -> String {
    let Value::Register(register) = value else {
        return match value {
            Value::Integer(number) => number.to_string(),
            _ => "?".to_owned(),
        };
    };
    let writes = |wanted: Register| {
        body.instructions
            .iter()
            .filter(move |one| body.defined(one).any(|register| register == wanted))
    };
    let mut found: Vec<String> = writes(register)
        .map(|one| {
            let uses = body.uses(one);
            match one.op {
                _ if depth == 0 => "?".to_owned(),
                Op::Copy => traced(body, uses[0], depth - 1),
                Op::Binary(op, bits) => {
                    let sides = (traced(body, uses[0], depth - 1), traced(body, uses[1], depth - 1));
                    format!("{op:?}{bits}({},{})", sides.0, sides.1)
                }
                Op::Convert { from, signed, to } => {
                    let sign = if signed { "s" } else { "u" };
                    format!("{sign}{from}to{to}({})", traced(body, uses[0], depth - 1))
                }
                Op::Compare(condition, bits, _) => {
                    let sides = (traced(body, uses[0], depth - 1), traced(body, uses[1], depth - 1));
                    format!("{condition:?}{bits}({},{})", sides.0, sides.1)
                }
                Op::Select => {
                    let (yes, no) = (traced(body, uses[0], depth - 1), traced(body, uses[1], depth - 1));
                    format!("{yes}|{no}")
                }
                Op::Access(access) => {
                    let place = body.results(one).iter().position(|result| *result == value);
                    format!("load{}[{}]", access.count, place.unwrap_or_default())
                }
                Op::CallResult(_) => format!("returned{:?}", uses[0]),
                _ => "?".to_owned(),
            }
        })
        .collect();
    found.sort();
    found.join(",")
}

/// The member mask of the body's first collective.
fn mask(code: &str) -> String {
    let text = format!(
        "declare void @llvm.nvvm.bar.warp.sync(i32)
declare {{ ptr, i32 }} @made()
declare {{ i64, {{ i32, i32 }} }} @nested()
define void @f(i1 %c, <4 x i32> %v, ptr %p) {{
{code}
  call void @llvm.nvvm.bar.warp.sync(i32 %m)
  ret void
}}"
    );
    with_module(text.as_bytes(), |module| {
        let (_, _, body) = module.bodies().next().unwrap();
        let collective = body.instruction(body.collectives[0]);
        traced(body, body.uses(collective)[0], 16)
    })
    .unwrap()
}

#[test]
fn elements_go_through_vectors() {
    assert_eq!(
        mask(
            "  %a = insertelement <4 x i32> %v, i32 7, i32 2
  %m = extractelement <4 x i32> %a, i32 2"
        ),
        "?"
    );
    assert_eq!(
        mask(
            "  %a = insertelement <4 x i32> poison, i32 7, i32 0
  %b = shufflevector <4 x i32> %a, <4 x i32> <i32 1, i32 2, i32 3, i32 4>, <2 x i32> <i32 6, i32 0>
  %c1 = select i1 %c, <2 x i32> %b, <2 x i32> zeroinitializer
  %d = freeze <2 x i32> %c1
  %m = extractelement <2 x i32> %d, i64 1"
        ),
        "7|0"
    );
    assert_eq!(
        mask("  %m = extractelement <4 x i32> <i32 1, i32 2, i32 3, i32 4>, i32 2"),
        "3"
    );
    assert_eq!(mask("  %m = extractelement <4 x i32> %v, i32 9"), "?");
}

#[test]
fn vectors_are_computed_an_element_at_a_time() {
    assert_eq!(
        mask(
            "  %a = load <2 x i32>, ptr %p
  %b = shl <2 x i32> %a, <i32 3, i32 4>
  %d = xor <2 x i32> <i32 7, i32 6>, %b
  %m = extractelement <2 x i32> %d, i32 1"
        ),
        "Xor32(6,Shl32(load2[1],4))"
    );
    assert_eq!(
        mask(
            "  %a = load <2 x i16>, ptr %p
  %b = icmp slt <2 x i16> %a, <i16 3, i16 4>
  %d = sext <2 x i1> %b to <2 x i32>
  %e = select <2 x i1> %b, <2 x i32> %d, <2 x i32> <i32 8, i32 9>
  %m = extractelement <2 x i32> %e, i32 0"
        ),
        "s1to32(LessSigned16(load2[0],3))|8"
    );
    // An element that is not followed on one side is unknown; on both, it is nothing.
    assert_eq!(
        mask(
            "  %a = and <4 x i32> %v, <i32 1, i32 2, i32 3, i32 4>
  %m = extractelement <4 x i32> %a, i32 2"
        ),
        "And32(?,3)"
    );
    assert_eq!(
        mask(
            "  %a = add <4 x i32> %v, %v
  %m = extractelement <4 x i32> %a, i32 2"
        ),
        "?"
    );
    // Each lane of these has another width.
    assert_eq!(
        mask(
            "  %a = load <2 x i32>, ptr %p
  %b = bitcast <2 x i32> %a to <4 x i16>
  %d = zext <4 x i16> %b to <4 x i32>
  %m = extractelement <4 x i32> %d, i32 2"
        ),
        "?"
    );
}

#[test]
fn structures_in_structures_have_elements_too() {
    assert_eq!(
        mask(
            "  %a = insertvalue { i8, { i32, [2 x i32] }, i32 } poison, i32 5, 1, 1, 0
  %b = insertvalue { i8, { i32, [2 x i32] }, i32 } %a, i32 9, 2
  %d = extractvalue { i8, { i32, [2 x i32] }, i32 } %b, 1
  %e = insertvalue { i32, { i32, [2 x i32] } } zeroinitializer, { i32, [2 x i32] } %d, 1
  %f = extractvalue { i32, { i32, [2 x i32] } } %e, 1, 1
  %m = extractvalue [2 x i32] %f, 0"
        ),
        "5"
    );
    assert_eq!(
        mask(
            "  %m = extractvalue { i32, [2 x { i32, i32 }] } { i32 1, [2 x { i32, i32 }] [{ i32, i32 } { i32 2, i32 3 }, { i32, i32 } { i32 4, i32 5 }] }, 1, 1, 0"
        ),
        "4"
    );
    assert_eq!(
        mask(
            "  %y = call { i64, { i32, i32 } } @nested()
  %d = extractvalue { i64, { i32, i32 } } %y, 1
  %m = extractvalue { i32, i32 } %d, 1"
        ),
        "returnedInteger(12)"
    );
    // An element whose place is not known may be any.
    assert_eq!(
        mask(
            "  %i = load i32, ptr %p
  %a = insertelement <2 x i32> <i32 1, i32 2>, i32 7, i32 %i
  %m = extractelement <2 x i32> %a, i32 0"
        ),
        "?"
    );
}

#[test]
fn types_of_many_elements_are_looked_at_no_further() {
    let wide = (0..12).fold("i32".to_owned(), |of, _| format!("[32 x {of}]"));
    let empty = (0..12).fold("[0 x i32]".to_owned(), |of, _| format!("{{ {of}, {of} }}"));
    for of in [wide, empty] {
        assert_eq!(
            mask(&format!(
                "  %a = freeze {of} poison
  %m = load i32, ptr %p"
            )),
            "load1[0]"
        );
    }
}

#[test]
fn vectors_are_loaded_an_element_at_a_time() {
    assert_eq!(
        mask(
            "  %a = load <4 x i32>, ptr %p
  %m = extractelement <4 x i32> %a, i32 3"
        ),
        "load4[3]"
    );
    let bits = "  %a = load <8 x i1>, ptr %p
  %b = extractelement <8 x i1> %a, i32 3
  %m = zext i1 %b to i32";
    assert_eq!(mask(bits), "u1to32(?)");
}

#[test]
fn structures_go_through_phis_and_calls() {
    assert_eq!(
        mask(
            "  br i1 %c, label %a, label %b
a:
  %x = insertvalue { ptr, i32 } undef, i32 5, 1
  br label %b
b:
  %y = phi { ptr, i32 } [ { ptr null, i32 6 }, %0 ], [ %x, %a ]
  %m = extractvalue { ptr, i32 } %y, 1"
        ),
        "5,6"
    );
    assert_eq!(
        mask(
            "  %y = call { ptr, i32 } @made()
  %m = extractvalue { ptr, i32 } %y, 1"
        ),
        "returnedInteger(8)"
    );
}

#[test]
fn what_is_passed_by_value_has_its_parts() {
    let text = "
%S = type { i32, ptr }
declare void @g(ptr byval(%S) align 8)
define void @f(ptr byval(%S) align 8 %s) {
  %own = alloca %S
  store i32 3, ptr %own
  call void @g(ptr byval(%S) %own)
  %at = getelementptr %S, ptr %s, i32 0, i32 1
  %p = load ptr, ptr %at
  store i32 1, ptr %p
  ret void
}";
    with_module(text.as_bytes(), |module| {
        let (_, _, body) = module.bodies().next().unwrap();
        let pieces: Vec<_> = body
            .arguments(&body.calls[0])
            .iter()
            .map(|argument| (argument.param, argument.offset))
            .collect();
        assert_eq!(pieces, [(0, 0), (0, 8)]);
        let reads_parameter = |one: &ptxcheck_ir::Instruction| {
            matches!(one.op, Op::Access(_)) && body.uses(one)[0] == Value::Param(0, 8)
        };
        assert!(body.instructions.iter().any(reads_parameter));
    })
    .unwrap();
}
