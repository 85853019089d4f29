//! Link sets: undefined symbols of images that are linked together.
//!
//! ```text
//! missing(set) = open(images that are linked or stand alone) − defined(images) − what the driver and ptxas provide
//! settled      = nobody can still define it: the image stands alone, or the set is the whole program and needs it;
//!                and every image of the set could be read
//! needed       = a kernel or a variable leads to a use, or a function that an image of the set needs
//! ```
//!
//! nvlink drops the functions that nothing needs, with the functions that those leave open; it does not drop the variables
//! (measured with nvlink 13.5). Of an archive other linkers take the members that are needed, and no others.
//!
//! An image that the driver loads as it is takes no definition from elsewhere. Machine code in the same container was made
//! from the same module: where ptxas did not find a variable, it made a private one, which is not a definition.

use ptxcheck_common::maps::{NameMap, NameSet};

use super::HostKind;
use super::{Open, SymbolClass};
use crate::externs;
use crate::inventory::{ImageKind, ImageReport, InputReport, Role, Status};
use ptxcheck_ir::places::Located;

/// The section whose images the CUDA runtime registers and the driver loads.
const REGISTERED: &str = ".nv_fatbin";

/// A symbol that is used and that no image of the link set defines.
#[derive(Clone, Debug)]
pub struct UndefinedSymbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// The kind of use.
    pub what: SymbolClass,
    /// The part of the C++ runtime of the host that it belongs to, which no library for devices has.
    pub runtime: Option<&'a str>,
    /// The uses, the one that is best known first; one for each function.
    pub uses: Vec<SymbolUse<'a>>,
    /// Number of further functions and variables that refer to it.
    pub more: u32,
    /// The host code that defines it.
    pub host: Option<HostDefinition<'a>>,
    /// All images that could define it were read.
    pub is_known: bool,
    /// Nobody can still define it: no other image is linked with those that use it.
    pub is_settled: bool,
    /// The driver loads the image that uses it as it is.
    pub stands_alone: bool,
}

/// A use, with the image that it is in.
#[derive(Clone, Copy, Debug)]
pub struct SymbolUse<'a> {
    /// Index of the input.
    pub input: usize,
    /// Index of the image in the input.
    pub image: u32,
    /// The member of the archive that the image lies in.
    pub member: Option<&'a str>,
    /// The use; `None` if only the symbol table shows it.
    pub at: Option<&'a Located>,
}

/// A definition of a symbol in host code.
#[derive(Clone, Copy, Debug)]
pub struct HostDefinition<'a> {
    /// The input and, of an archive, the member.
    pub input: &'a str,
    /// The member of the archive.
    pub member: Option<&'a str>,
    /// A variable or a function.
    pub kind: HostKind,
}

/// The symbols that the inputs leave open, by the order of their first use. `is_one_set`: all inputs are linked
/// together; `is_complete`: with nothing else.
#[must_use]
pub fn missing(inputs: &[InputReport], is_one_set: bool, is_complete: bool) -> Vec<UndefinedSymbol<'_>> {
    let numbered: Vec<(usize, &InputReport)> = inputs.iter().enumerate().collect();
    if is_one_set {
        return LinkSet::new(numbered, is_complete).missing();
    }
    numbered
        .into_iter()
        .flat_map(|one| LinkSet::new(vec![one], is_complete).missing())
        .collect()
}

/// A container of images: input and number.
type Container = (usize, u32);

/// The definer of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Definer {
    /// Images that are linked with others, or several containers.
    Anyone,
    /// Images in this container, which are linked with nothing.
    Only(Container),
}

struct LinkSet<'a> {
    inputs: Vec<(usize, &'a InputReport)>,
    defined: NameMap<&'a str, Definer>,
    /// The symbols that images leave open and need.
    needed: NameSet<&'a str>,
    is_complete: bool,
    is_known: bool,
}

/// The images that can end up in a program.
fn images(input: &InputReport) -> impl Iterator<Item = (u32, &ImageReport)> {
    (0..)
        .zip(&input.images)
        .filter(|(_, image)| !image.role.is_copy())
}

/// True if the driver loads the image as it is: nothing is linked to it.
fn stands_alone(image: &ImageReport) -> bool {
    image.role == Role::Loadable && image.container.is_some() && image.section.as_deref() == Some(REGISTERED)
}

impl<'a> LinkSet<'a> {
    fn new(inputs: Vec<(usize, &'a InputReport)>, is_complete: bool) -> Self {
        let mut set = Self {
            defined: NameMap::default(),
            needed: NameSet::default(),
            is_complete,
            is_known: true,
            inputs: Vec::new(),
        };
        for &(number, input) in &inputs {
            set.is_known &= input.status != Status::Failed;
            for (_, image) in images(input) {
                set.is_known &= image.facts.symbols.is_some();
                set.define(number, image);
            }
        }
        set.inputs = inputs;
        if is_complete {
            set.needed = needed_open_symbols(&set.inputs);
        }
        set
    }

    fn define(&mut self, input: usize, image: &'a ImageReport) {
        let definer = match image.container {
            Some(container) if stands_alone(image) => Definer::Only((input, container)),
            _ => Definer::Anyone,
        };
        let functions = image.facts.symbols.iter().flat_map(|symbols| &symbols.defined);
        let kernels = image.facts.kernels.iter().map(|kernel| &kernel.name);
        for name in functions.chain(kernels) {
            self.defined
                .entry(name)
                .and_modify(|known| {
                    if *known != definer {
                        *known = Definer::Anyone;
                    }
                })
                .or_insert(definer);
        }
    }

    /// True if the program cannot do without a symbol that an image leaves open.
    fn is_needed(&self, open: &Open, image: &ImageReport) -> bool {
        // ptxas compiles all of a text that is nothing but the program.
        let is_alone = image.kind == ImageKind::Ptx
            && image.container.is_none()
            && image.section.is_none()
            && self.inputs.len() == 1;
        let is_kept = open.what == SymbolClass::Variable && image.member.is_none();
        is_alone || is_kept || is_needed(open, &self.needed)
    }

    /// True if an image of the set defines the symbol for this one.
    fn defines(&self, name: &str, input: usize, image: &ImageReport) -> bool {
        match (self.defined.get(name), image.container) {
            (Some(Definer::Only(own)), Some(container)) => *own != (input, container),
            (known, _) => known.is_some(),
        }
    }

    fn missing(&self) -> Vec<UndefinedSymbol<'a>> {
        let mut places: NameMap<&str, usize> = NameMap::default();
        let mut found: Vec<UndefinedSymbol<'a>> = Vec::new();
        for &(number, input) in &self.inputs {
            for (index, image) in images(input).filter(|(_, image)| image.role != Role::LinkedAtLoad) {
                let open = image.facts.symbols.iter().flat_map(|symbols| &symbols.open);
                // The driver knows what finished machine code leaves open.
                let is_finished = image.kind == ImageKind::Cubin && image.role == Role::Loadable;
                for open in open.filter(|_| !is_finished) {
                    if externs::is_provided(&open.name) || self.defines(&open.name, number, image) {
                        continue;
                    }
                    let place = *places.entry(&open.name).or_insert_with(|| {
                        found.push(self.undefined_symbol_of(open, image));
                        found.len() - 1
                    });
                    found[place].is_settled |= self.is_complete && self.is_needed(open, image);
                    found[place].add(number, index, image, open);
                    if found[place].host.is_none() {
                        found[place].host = self.host_definition_of(open, number, image);
                    }
                }
            }
        }
        for missing in &mut found {
            missing.uses.sort_by_key(SymbolUse::rank);
        }
        found
    }

    fn undefined_symbol_of(&self, open: &'a Open, image: &'a ImageReport) -> UndefinedSymbol<'a> {
        let stands_alone = stands_alone(image);
        UndefinedSymbol {
            name: &open.name,
            what: open.what,
            runtime: open.runtime.as_deref(),
            uses: Vec::new(),
            more: 0,
            host: None,
            is_known: self.is_known || stands_alone,
            is_settled: stands_alone,
            stands_alone,
        }
    }

    /// The host code that defines what an image leaves open. A symbol that the host registers is its view of a device variable.
    fn host_definition_of(
        &self,
        open: &Open,
        number: usize,
        image: &'a ImageReport,
    ) -> Option<HostDefinition<'a>> {
        let name = open.name.as_str();
        let hosts = || {
            self.inputs
                .iter()
                .filter_map(|(index, input)| Some((*index, &input.name, input.host.as_ref()?)))
        };
        let is_view = hosts().any(|(.., host)| {
            host.registered
                .iter()
                .any(|known| known.is_certain && known.name == name)
        });
        if is_view {
            return None;
        }
        hosts().find_map(|(index, input, host)| {
            let own = || {
                let kind = host.names.find_in(image.member.as_deref(), name)?;
                Some((kind, image.member.as_deref()))
            };
            let (kind, member) = match host.names.find(name) {
                Some(found) => found,
                None if index == number => own()?,
                None => return None,
            };
            Some(HostDefinition { input, member, kind })
        })
    }
}

/// True if something in its image needs an open symbol, or another image does.
fn is_needed(open: &Open, needed: &NameSet<&str>) -> bool {
    let through = open.needed_through.as_ref();
    through.is_none_or(|functions| functions.iter().any(|name| needed.contains(name.as_str())))
}

/// The open symbols that a set of images needs.
fn needed_open_symbols<'a>(inputs: &[(usize, &'a InputReport)]) -> NameSet<&'a str> {
    let mut needed: NameSet<&'a str> = NameSet::default();
    // The symbols that a function needs, once it is needed itself.
    let mut through: NameMap<&str, Vec<&'a str>> = NameMap::default();
    let mut next: Vec<&'a str> = Vec::new();
    let all = inputs.iter().flat_map(|(_, input)| images(input));
    for open in all.flat_map(|(_, image)| image.facts.symbols.iter().flat_map(|symbols| &symbols.open)) {
        match &open.needed_through {
            None => next.push(&open.name),
            Some(functions) => {
                for function in functions {
                    through.entry(function).or_default().push(&open.name);
                }
            }
        }
    }
    while let Some(name) = next.pop() {
        if needed.insert(name) {
            next.extend(through.get(name).into_iter().flatten());
        }
    }
    needed
}

impl<'a> UndefinedSymbol<'a> {
    /// Adds the uses in an image; of each function one.
    fn add(&mut self, input: usize, image: u32, report: &'a ImageReport, open: &'a Open) {
        let symbol_use = |at| SymbolUse {
            input,
            image,
            member: report.member.as_deref(),
            at,
        };
        for at in &open.uses {
            let symbol_use = symbol_use(Some(at));
            match self.uses.iter_mut().find(|known| known.is_same(&symbol_use)) {
                Some(known) if symbol_use.rank() < known.rank() => *known = symbol_use,
                Some(_) => {}
                None => self.uses.push(symbol_use),
            }
        }
        if self.uses.is_empty() {
            self.uses.push(symbol_use(None));
        }
        self.more = self.more.max(open.more);
    }
}

impl SymbolUse<'_> {
    /// Source lines before lines of text before names; code before data.
    fn rank(&self) -> impl Ord + use<> {
        let has = |is_there: bool| u8::from(!is_there);
        (
            has(self.at.is_some_and(|at| at.source.is_some())),
            has(self.at.is_some_and(|at| at.location.is_some())),
            has(self.at.is_some_and(|at| at.function.is_some())),
            self.input,
            self.image,
            self.at.map_or(0, |at| at.offset),
        )
    }

    /// True if both are in one function of one object, which has it for several targets.
    fn is_same(&self, other: &Self) -> bool {
        let place = |symbol_use: &Self| {
            symbol_use.at.map(|at| match &at.function {
                Some(function) => Ok(function.clone()),
                None => Err(at.offset),
            })
        };
        (self.input, self.member, place(self)) == (other.input, other.member, place(other))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::inventory::{Facts, Host};
    use crate::link::Symbols;

    fn image(role: Role, container: u32, section: &str, defined: &[&str], open: &[&str]) -> ImageReport {
        let use_of_it = Located {
            function: Some("k".to_owned()),
            ..Located::default()
        };
        let open = open.iter().map(|name| Open {
            name: (*name).to_owned(),
            what: SymbolClass::Variable,
            runtime: None,
            uses: vec![use_of_it.clone()],
            more: 0,
            needed_through: None,
        });
        ImageReport {
            kind: ImageKind::Ptx,
            role,
            target: "sm_90".to_owned(),
            virtual_number: None,
            isa: String::new(),
            bytes: 0,
            packed: 0,
            offset: 0,
            kernels: 0,
            functions: 0,
            compression: None,
            section: Some(section.to_owned()),
            member: None,
            container: Some(container),
            options: String::new(),
            is_64_bit: true,
            is_debug: false,
            is_read: true,
            limit: None,
            unsearched: 0,
            digest: None,
            facts: Arc::new(Facts {
                symbols: Some(Symbols {
                    defined: defined.iter().map(|name| (*name).to_owned()).collect(),
                    open: open.collect(),
                    shapes: Vec::new(),
                }),
                ..Facts::default()
            }),
            comments: Vec::new(),
        }
    }

    fn input(name: &str, images: Vec<ImageReport>, host: &[&str]) -> InputReport {
        let mut known = Host::default();
        known.names.begin(None);
        for name in host {
            known.names.add(name.as_bytes(), HostKind::Variable, false);
        }
        known.names.sort();
        InputReport {
            name: name.to_owned(),
            status: Status::Checked,
            images,
            host: Some(known),
            problems: Vec::new(),
            exported: Vec::new(),
            variants: None,
            contents: None,
        }
    }

    fn linked(defined: &[&str], open: &[&str]) -> ImageReport {
        image(Role::Relocatable, 0, "__nv_relfatbin", defined, open)
    }

    /// Name, host object, known, settled.
    fn names_and_states_of_undefined_symbols(
        inputs: &[InputReport],
        is_one_set: bool,
        is_complete: bool,
    ) -> Vec<(&str, &str, bool, bool)> {
        missing(inputs, is_one_set, is_complete)
            .iter()
            .map(|one| {
                let host = one.host.map_or("", |host| host.input);
                (one.name, host, one.is_known, one.is_settled)
            })
            .collect()
    }

    #[test]
    fn a_set_defines_what_its_members_define() {
        let inputs = [
            input("a.o", vec![linked(&[], &["limit", "scale"])], &[]),
            input("b.o", vec![linked(&["scale"], &[])], &["scale"]),
            input("c.o", vec![], &["limit"]),
        ];
        let alone = [("limit", "", true, false), ("scale", "", true, false)];
        assert_eq!(
            names_and_states_of_undefined_symbols(&inputs, false, false),
            alone
        );
        assert_eq!(
            names_and_states_of_undefined_symbols(&inputs, true, false),
            [("limit", "c.o", true, false)]
        );
        assert_eq!(
            names_and_states_of_undefined_symbols(&inputs, true, true),
            [("limit", "c.o", true, true)]
        );
    }

    /// An image with a function that leaves another one open, and that this leads to.
    fn function(name: &str, open: &str, through: Option<&str>) -> ImageReport {
        let mut image = linked(&[name], &[open]);
        let facts = Arc::make_mut(&mut image.facts);
        for open in facts.symbols.iter_mut().flat_map(|symbols| &mut symbols.open) {
            open.what = SymbolClass::Function;
            open.needed_through = through.map(|name| vec![name.to_owned()]);
        }
        image
    }

    #[test]
    fn a_program_needs_what_its_kernels_lead_to() {
        let settled = |images: Vec<ImageReport>| -> Vec<bool> {
            let inputs = [input("a.o", images, &[])];
            let missing = missing(&inputs, true, true);
            missing.iter().map(|one| one.is_settled).collect()
        };
        let plugin = || function("f", "plugin", Some("f"));
        assert_eq!(settled(vec![plugin()]), [false]);
        assert_eq!(settled(vec![plugin(), function("k", "f", None)]), [true]);
        assert_eq!(settled(vec![plugin(), function("g", "f", Some("g"))]), [false]);
        assert_eq!(
            settled(vec![
                plugin(),
                function("g", "f", Some("g")),
                function("k", "g", None)
            ]),
            [true]
        );
    }

    #[test]
    fn images_that_cannot_be_read_may_define_anything() {
        let mut closed = linked(&[], &[]);
        closed.kind = ImageKind::LtoIr;
        closed.facts = Arc::default();
        let inputs = [
            input("a.o", vec![linked(&[], &["limit"])], &["limit"]),
            input("b.o", vec![closed], &[]),
        ];
        assert_eq!(
            names_and_states_of_undefined_symbols(&inputs, true, true),
            [("limit", "a.o", false, true)]
        );
    }

    #[test]
    fn a_private_copy_is_no_definition() {
        let loadable = |container, defined: &[&str], open: &[&str]| {
            image(Role::Loadable, container, REGISTERED, defined, open)
        };
        let copy = loadable(0, &["limit"], &[]);
        let ptx = loadable(0, &[], &["limit"]);
        let app = input("app", vec![copy.clone(), ptx.clone()], &["limit"]);
        assert_eq!(
            names_and_states_of_undefined_symbols(&[app], false, false),
            [("limit", "app", true, true)]
        );
        // Another module that defines it is a reason to be silent, even if nothing links the two.
        let other = loadable(1, &["limit"], &[]);
        let app = input("app", vec![copy, ptx, other], &["limit"]);
        assert_eq!(names_and_states_of_undefined_symbols(&[app], false, false), []);
    }

    #[test]
    fn symbols_that_the_host_registers_are_device_variables() {
        let mut a = input("a.o", vec![linked(&[], &["limit"])], &[]);
        let mut b = input("b.o", vec![], &["limit"]);
        let registered = |name: &str| crate::inventory::Registration {
            name: name.to_owned(),
            member: None,
            is_variable: true,
            is_certain: true,
        };
        if let Some(host) = &mut b.host {
            host.registered.push(registered("limit"));
        }
        a.host = None;
        assert_eq!(
            names_and_states_of_undefined_symbols(&[a, b], true, false),
            [("limit", "", true, false)]
        );
    }

    #[test]
    fn symbols_left_by_a_finished_link_are_resolved() {
        let left = image(Role::LinkedAtLoad, 0, "__nv_relfatbin", &[], &["limit"]);
        assert_eq!(
            names_and_states_of_undefined_symbols(&[input("app", vec![left], &["limit"])], false, true),
            []
        );
    }
}
