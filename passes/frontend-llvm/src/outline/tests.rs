use super::*;

const TEXT: &str = r#"; define void @comment() {
source_filename = "define @string() {"
%S = type { i32, { i8, i8 } }
@"a b\22c" = global i32 0 ; @x = no
@plain = constant [9 x i8] c"define {\0A"
attributes #0 = { "a"="}" nounwind }

define { i32, i32 } @first({ i32, i32 } %x, ptr @plain2) #0 personality ptr @plain !dbg !7 {
  %a = extractvalue { i32, i32 } %x, 0, !dbg !{ i32 1 }
  switch i32 %a, label %other [
    i32 0, label %"quo ted"
    i32 1, label %other
  ], !dbg !8
"quo ted":
  #dbg_value(i32 %a, !9, !DIExpression(), !10)
  invoke void @g(i32 %a)
          to label %other unwind label %pad ; @comment
pad:                                              ; preds = %other
  %l = landingpad { ptr, i32 }
          cleanup
          catch ptr null
  unreachable
other:
  %1 = tail call i32 asm sideeffect "bar.sync 0; // } {
", "=r,~{memory}"(), !dbg !7
  store i32 %1, i32* bitcast (i8* @plain to i32*)
  ret { i32, i32 } undef }
declare i32 @"late r"(ptr)
!1 = !{!"define @m() {", i32 1}
define void @second() { ret void }
"#;

fn text_of(span: Span) -> &'static str {
    std::str::from_utf8(span.of(TEXT.as_bytes())).unwrap()
}

#[test]
fn globals_and_functions_are_found() {
    let outline = Outline::of(TEXT.as_bytes());
    let mut found: Vec<_> = outline
        .globals
        .iter()
        .map(|(name, span)| (String::from_utf8_lossy(name).into_owned(), text_of(*span)))
        .collect();
    found.sort();
    let header = "define { i32, i32 } @first({ i32, i32 } %x, ptr @plain2) #0 personality ptr @plain !dbg !7";
    let wanted = [
        ("a b\"c", "@\"a b\\22c\""),
        ("first", header),
        ("late r", "declare i32 @\"late r\"(ptr)"),
        ("plain", "@plain"),
        ("second", "define void @second() { ret void }"),
    ];
    assert_eq!(found, wanted.map(|(name, text)| (name.to_owned(), text)));
}

#[test]
fn blocks_and_instructions_are_found() {
    let outline = Outline::of(TEXT.as_bytes());
    let blocks = blocks(TEXT.as_bytes(), outline.bodies[&b"first"[..]]);
    let found: Vec<Vec<_>> = blocks
        .iter()
        .map(|block| block.instructions.iter().map(|one| text_of(one.span)).collect())
        .collect();
    let wanted: [&[&str]; 4] = [
        &[
            "%a = extractvalue { i32, i32 } %x, 0",
            "switch i32 %a, label %other [",
        ],
        &["invoke void @g(i32 %a)"],
        &["%l = landingpad { ptr, i32 }", "unreachable"],
        &[
            "%1 = tail call i32 asm sideeffect \"bar.sync 0; // } {",
            "store i32 %1, i32* bitcast (i8* @plain to i32*)",
            "ret { i32, i32 } undef",
        ],
    ];
    assert_eq!(found, wanted);
    let labels: Vec<_> = blocks.iter().map(|block| block.label.map(text_of)).collect();
    assert_eq!(labels, [None, Some("\"quo ted\""), Some("pad"), Some("other")]);
    assert_eq!(text_of(blocks[1].instructions[0].callee), "g");
    assert_eq!(text_of(blocks[0].instructions[0].result), "a");
}

#[test]
fn no_prefix_of_a_text_is_too_much() {
    for length in 0..TEXT.len() {
        let text = &TEXT.as_bytes()[..length];
        let outline = Outline::of(text);
        for body in outline.bodies.values() {
            for block in blocks(text, *body) {
                assert!(
                    block
                        .instructions
                        .iter()
                        .all(|one| one.span.end as usize <= length)
                );
            }
        }
    }
}

#[test]
fn names_are_read_as_llvm_reads_them() {
    assert_eq!(unquoted(b"a.b").as_deref(), Some(&b"a.b"[..]));
    assert_eq!(unquoted(b"12"), None);
    assert_eq!(unquoted(b"\"12\"").as_deref(), Some(&b"12"[..]));
    assert_eq!(unquoted(b"\"a\\5C\\\\b\"").as_deref(), Some(&b"a\\\\b"[..]));
    assert_eq!(unquoted(b"\"a\\zz\"").as_deref(), Some(&b"a\\zz"[..]));
}
