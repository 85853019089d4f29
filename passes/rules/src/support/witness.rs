//! Witnesses of conditional findings in words: the launch, the values, and the run.

use super::addresses;
use super::lane_words::{named, place_of, sides, verb};
use crate::analysis::lanes::{FixedParam, Object, Site};
use crate::conditional::{Doing, General, Memory, Witness, WitnessRun, WitnessStep};
use crate::context::{Draft, ModuleContext};
use crate::finding::Actor;
use crate::ir::ops::Form;
use crate::ir::{FunctionId, Value};
use crate::launches::Shape;
use crate::limits::MAX_POINTER_STEPS;

/// Adds the launch and the values with which something goes wrong in a kernel.
pub(crate) fn tell(
    module: &ModuleContext<'_>,
    draft: &mut Draft,
    kernel: FunctionId,
    witness: &Witness,
    general: Option<&General>,
) {
    let Witness {
        block,
        grid,
        block_index,
        warp,
        ..
    } = *witness;
    let mut given = vec![format!("blocks of {} threads", sides(block))];
    if witness.pair_blocks.is_some() {
        let blocks: u32 = grid.iter().product();
        given.push(if blocks == 1 {
            "one block".to_owned()
        } else {
            format!("{blocks} blocks")
        });
    } else if grid != [1; 3] {
        given.push(format!("block {block_index:?} of a grid of {grid:?}"));
    }
    let names = module.module.parameter_names(kernel);
    let called = |number: u16| match names.get(usize::from(number)) {
        Some(Some(name)) => format!("`{}` (parameter {number})", ptxcheck_common::names::shown(name)),
        _ => format!("parameter {number}"),
    };
    let mut params = Vec::new();
    for param in &witness.params {
        let piece = match param.offset {
            0 => String::new(),
            offset => format!(" at byte {offset}"),
        };
        given.push(format!("{}{piece} = {}", called(param.number), param.value));
        params.push(format!("parameter {}{piece} = {}", param.number, param.value));
    }
    let mut loads = Vec::new();
    for load in &witness.loads {
        let (lanes, value) = load.differing;
        let from = match pointer_parameter(module, &load.site) {
            Some(number) => format!(" from {}", called(number)),
            None => String::new(),
        };
        loads.push(if lanes == 0 {
            format!("all lanes load {}{from}", load.others)
        } else {
            let block = match witness.block_of_differing_lanes() {
                Some(block) => format!(" of block {block}"),
                None => String::new(),
            };
            let load_it = if lanes.count_ones() == 1 { "loads" } else { "load" };
            format!(
                "{}{block} {load_it} {value}{from}, the others {}",
                named(lanes),
                load.others
            )
        });
        draft.related(place_of(&load.site), "the value is loaded here");
    }
    given.extend(loads.iter().cloned());
    let memory = match witness.memory {
        Memory::Unknown => None,
        Memory::Zero => Some("all other memory 0"),
        Memory::Counting => Some("the elements of all other memory 1 to 8, over and over"),
        Memory::Ascending => Some("element i of all other memory = i"),
    };
    let large = witness.large.iter().filter_map(|&object| match object {
        Object::Parameter(number) => Some(format!("large numbers where {} points to", called(number))),
        Object::Variable(symbol) => Some(format!(
            "large numbers in {}",
            addresses::named(module, module.module.symbol(symbol).space, symbol)
        )),
        Object::Part(_) => None,
    });
    given.extend(large);
    given.extend(memory.map(str::to_owned));
    let who = match (witness.pair, witness.pair_blocks) {
        (Some((writer, other)), Some((first, second))) => {
            format!("thread {writer} of block {first} and thread {other} of block {second}")
        }
        (Some((writer, other)), None) => {
            format!(
                "threads {} and {} of the first block",
                writer.min(other),
                writer.max(other)
            )
        }
        (None, _) => format!("warp {warp} of the first block"),
    };
    draft.note(format!("when: {}: {who}", given.join(", ")));
    if let (Some(general), [param]) = (general, &witness.params[..]) {
        write_general(draft, general, param, &names);
    }
    draft.note(
        "a run of this in the machine of ptxcheck goes wrong here (`ptxcheck replay` shows it step by step); parameters count from 0, as \
         in PTX",
    );
    let numbers = |sides: Shape| crate::finding::Value::Numbers(sides.map(u64::from).to_vec());
    draft.data("block", numbers(witness.block));
    draft.data("grid", numbers(witness.grid));
    draft.data("block_index", numbers(witness.block_index));
    if witness.pair.is_none() {
        draft.data("warp", u64::from(warp));
    }
    draft.data("parameters", crate::finding::Value::Texts(params));
    if !witness.params.is_empty() && names.iter().any(Option::is_some) {
        let of_one = |param: &FixedParam| {
            names
                .get(usize::from(param.number))
                .cloned()
                .flatten()
                .unwrap_or_default()
        };
        let names = witness.params.iter().map(of_one).collect();
        draft.data("parameter_names", crate::finding::Value::Texts(names));
    }
    draft.data("loads", crate::finding::Value::Texts(loads));
    if let Some(memory) = memory {
        draft.data("memory", memory);
    }
    let shown = module.shown_launches(kernel);
    if let Some(place) = shown.and_then(|shown| shown.host_function_for(witness.block)) {
        draft.note(format!("launched so by {place}"));
    }
    if let Some(assumption) = ruling_out(module, kernel, witness, &names) {
        draft.help(format!(
            "if it is never called so, say it: `{assumption}` in ptxcheck.toml"
        ));
    }
}

/// The parameter of a kernel that the address of a load in it is computed from: a pointer, to which integers are added. `None` if two
/// parameters are added, or the address comes from elsewhere.
fn pointer_parameter(module: &ModuleContext<'_>, site: &Site) -> Option<u16> {
    let function = module.module.function(site.function);
    let body = function.body.as_ref().filter(|_| function.is_kernel())?;
    let definitions = module.function(site.function).definitions();
    let mut found = None;
    let mut open = vec![*body.uses(body.instruction(site.instruction)).first()?];
    for _ in 0..MAX_POINTER_STEPS {
        let Some(value) = open.pop() else {
            return found;
        };
        let Value::Register(register) = value else {
            continue;
        };
        let Some(writer) = definitions.only_writer(body, register) else {
            continue;
        };
        let instruction = body.instruction(writer);
        if let Some((number, 0)) = body.loaded_param(instruction) {
            if found.is_some_and(|known| known != number) {
                return None;
            }
            found = Some(number);
            continue;
        }
        match Form::of(instruction.op, body.uses(instruction)) {
            Form::Moved(from, change) if change.keeps_address() => open.push(from),
            Form::Sum(one, other) => open.extend([one, other]),
            // `base + i * size` in one instruction.
            Form::ProductSum(_, _, last) => open.push(last),
            _ => {}
        }
    }
    None
}

/// Tells the other values of the parameter of a witness with which the same goes wrong.
fn write_general(draft: &mut Draft, general: &General, param: &FixedParam, names: &[Option<String>]) {
    let name = names.get(usize::from(param.number)).cloned().flatten();
    let parameter = match name {
        Some(name) => format!("`{}`", ptxcheck_common::names::shown(&name)),
        None if param.offset > 0 => format!("parameter {} at byte {}", param.number, param.offset),
        None => format!("parameter {}", param.number),
    };
    let range = format!("{} to {}", general.least, general.most);
    let but = match general.no_multiple_of {
        1 => String::new(),
        width => format!(", and no multiple of {width}"),
    };
    draft.note(format!(
        "in general: whenever {parameter} is {range}{but} (each value from 0 to {} was run)",
        general.tried
    ));
    draft.data("general_least", general.least);
    draft.data("general_most", general.most);
    draft.data("general_no_multiple_of", general.no_multiple_of);
    draft.data("general_tried", general.tried);
}

/// An assumption that rules a witness out, as the configuration has it: a parameter is a multiple of the threads of a block, or is not
/// the value with which something goes wrong. `None` if that depends on no parameter.
fn ruling_out(
    module: &ModuleContext<'_>,
    kernel: FunctionId,
    witness: &Witness,
    names: &[Option<String>],
) -> Option<String> {
    let Witness { params, .. } = witness;
    let threads = witness.threads();
    let is_tail = |param: &&FixedParam| !param.value.is_multiple_of(threads.max(1));
    let param = params.iter().find(is_tail).or(params.first())?;
    let condition = if is_tail(&param) {
        format!("% {threads}")
    } else {
        format!("!= {}", signed(param))
    };
    let (number, offset) = (param.number, param.offset);
    let function = module.module.function(kernel);
    let is_whole = function.params.get(usize::from(number))?.size == u64::from(param.bytes);
    let name = names.get(usize::from(number)).and_then(Option::as_deref);
    let parameter = match name {
        _ if !is_whole => format!("\"{number}+{offset}\""),
        Some(name)
            if name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') =>
        {
            name.to_owned()
        }
        _ => number.to_string(),
    };
    let spellings = ptxcheck_common::names::spellings(module.module.function_name(kernel));
    let kernel = spellings.iter().min_by_key(|name| name.len())?;
    Some(format!("[assume.{kernel:?}] {parameter} = \"{condition}\""))
}

/// The value of a piece of a parameter as an integer.
const fn signed(param: &FixedParam) -> i64 {
    let bits = param.bytes as u32 * 8;
    if bits == 0 || bits > 64 {
        return 0;
    }
    (param.value << (64 - bits)).cast_signed() >> (64 - bits)
}

/// Adds the steps of a run that goes wrong.
pub(crate) fn tell_run(module: &ModuleContext<'_>, draft: &mut Draft, run: &WitnessRun) {
    for (number, step) in run.steps.iter().enumerate() {
        let before = match run.left_out {
            more if more > 0 && number == run.first => format!("{more} steps later, "),
            _ => String::new(),
        };
        let warp = match (step.warp, step.block) {
            (Some(warp), Some(block)) => format!("in warp {warp} of block {block}, "),
            (Some(warp), None) => format!("in warp {warp}, "),
            (None, _) => String::new(),
        };
        let times = match step.times {
            0 | 1 => String::new(),
            times => format!(", {times} times"),
        };
        let act = format!("{}{times}", act(module, step));
        draft.step(
            place_of(&step.site),
            format!("{before}{warp}{} {act}", named(step.lanes)),
            Actor {
                block: step.block,
                warp: step.warp,
                lanes: step.lanes,
                act,
            },
        );
    }
}

/// The act of lanes in a step of a run, in words: `go on here`.
fn act(module: &ModuleContext<'_>, step: &WitnessStep) -> String {
    let by = |one: &'static str, many: &'static str| verb(step.lanes, one, many).to_owned();
    match step.doing {
        Doing::Goes(block) => {
            let body = module.module.function(step.site.function).body.as_ref();
            let is_jump = body.is_some_and(|body| {
                let from = body.block_of(step.site.instruction);
                body.successors(from).last() != Some(&block)
            });
            if is_jump {
                by("jumps from here", "jump from here")
            } else {
                by("goes on here", "go on here")
            }
        }
        Doing::Arrives(mask) => {
            let waits = by("comes here and waits", "come here and wait");
            format!("{waits}, with the mask {mask:#010x}")
        }
        Doing::ArrivesAtBarrier => by("comes to the barrier and waits", "come to the barrier and wait"),
        Doing::Acts => by("does this, which others can see", "do this, which others can see"),
        Doing::Meets => by("meets its like and goes on", "meet and go on"),
        Doing::Passes => by("passes the barrier", "pass the barrier"),
        Doing::Fails(_) => by("goes wrong here", "go wrong here"),
        Doing::Reads => by("reads here", "read here"),
        Doing::Writes => by("writes here", "write here"),
        Doing::LetGo => by("waits in vain", "wait in vain"),
        Doing::Ends => by("ends here", "end here"),
    }
}
