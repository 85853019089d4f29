//! Typed 32-bit indices: an instruction can't be looked up with the number of a block.

macro_rules! index {
    ($(#[$doc:meta] $name:ident;)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The index with this number.
            ///
            /// The front ends bound every arena by the size of the input, which 32 bits hold.
            #[must_use]
            pub const fn new(number: usize) -> Self {
                Self(number as u32)
            }

            /// Its number, for indexing an arena.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index! {
    /// A symbol of a module.
    SymbolId;
    /// A function of a module.
    FunctionId;
    /// A block of a body.
    BlockId;
    /// An instruction of a body.
    InstructionId;
    /// A call of a body.
    CallId;
    /// A virtual register of a body.
    Register;
    /// A debug location of a body.
    DebugId;
}

impl DebugId {
    /// No debug location.
    pub const NONE: Self = Self(u32::MAX);
}

/// A run of consecutive entries of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The first.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Slots {
    /// The entries `start..end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// As a range, for slicing the arena.
    #[must_use]
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}
