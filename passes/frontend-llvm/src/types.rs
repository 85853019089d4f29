//! Properties of types that the lowering needs, read once each.

use std::cell::RefCell;

use super::numbers::Numbers;
use super::raw::{Module, Type, TypeKind};
use super::spaces::space;
use ptxcheck_ir::Space;

/// A type as the device IR sees it.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Bits of a value that is one number; 0 for anything else.
    pub(super) bits: u8,
    pub(super) is_int: bool,
    pub(super) is_void: bool,
    pub(super) is_pointer: bool,
    /// A structure, array or vector that has elements.
    pub(super) is_aggregate: bool,
    /// The space that a pointer points into; generic for other types and for unknown spaces.
    pub(super) space: Space,
}

/// The types of a module.
pub(super) struct Types<'m> {
    module: Module<'m>,
    known: RefCell<TypeTable>,
}

/// A power of two.
const RECENT: usize = 32;

#[derive(Default)]
struct TypeTable {
    numbers: Numbers,
    /// Types and their numbers, each in a place of its address: most of what is asked for again.
    recent: [(usize, u32); RECENT],
    /// With the size in bytes, once it was asked for.
    shapes: Vec<(Shape, Option<u64>)>,
}

impl<'m> Types<'m> {
    pub(super) fn new(module: Module<'m>) -> Self {
        Self {
            module,
            known: RefCell::default(),
        }
    }

    pub(super) fn shape(&self, ty: Type<'m>) -> Shape {
        let mut known = self.known.borrow_mut();
        let number = self.number(&mut known, ty);
        known.shapes[number].0
    }

    /// Bytes that a value of this type takes in memory; 0 for a type without a size.
    pub(super) fn size(&self, ty: Type<'m>) -> u64 {
        let mut known = self.known.borrow_mut();
        let number = self.number(&mut known, ty);
        *known.shapes[number].1.get_or_insert_with(|| self.module.size(ty))
    }

    #[inline]
    fn number(&self, known: &mut TypeTable, ty: Type<'m>) -> usize {
        let address = ty.address();
        let recent = address >> 3 & (RECENT - 1);
        let (of, number) = known.recent[recent];
        if of == address {
            return number as usize;
        }
        let next = known.shapes.len() as u32;
        let number = known.numbers.get_or_insert(address, next);
        if number == next {
            known.shapes.push((self.asked(ty), None));
        }
        known.recent[recent] = (address, number);
        number as usize
    }

    fn asked(&self, ty: Type<'m>) -> Shape {
        let kind = ty.kind();
        Shape {
            bits: ty.number_bits(|space| self.module.pointer_bits(space)),
            is_int: kind == TypeKind::LLVMIntegerTypeKind,
            is_void: kind == TypeKind::LLVMVoidTypeKind,
            is_pointer: kind == TypeKind::LLVMPointerTypeKind,
            is_aggregate: ty.sequence().is_some_and(|(_, count)| count > 0) || ty.fields() > 0,
            space: ty.space().and_then(space).unwrap_or(Space::Generic),
        }
    }
}
