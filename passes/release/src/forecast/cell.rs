//! The loading of one kernel on one GPU.

use crate::inventory::Stub;

use super::needs::NeededDriver;

/// The way in which a kernel is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// From machine code that was made for this GPU.
    Exact,
    /// From machine code that was made for an older GPU of its generation.
    Older,
    /// From PTX, which the driver compiles when it is first loaded.
    Jit,
    /// From relocatable code of all objects, which the driver compiles and links when it is first loaded (NVCC, Implicit JIT
    /// Linking).
    JitLink,
    /// From some of the containers that have it, and from others not.
    Partly,
    /// That is not known: documents contradict each other, or an image is not read.
    Unsure,
    /// It is not.
    None,
}

impl State {
    /// All, from the best to the worst.
    pub const ALL: [Self; 7] = [
        Self::Exact,
        Self::Older,
        Self::Jit,
        Self::JitLink,
        Self::Partly,
        Self::Unsure,
        Self::None,
    ];

    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Older => "older",
            Self::Jit => "jit",
            Self::JitLink => "jit-link",
            Self::Partly => "partly",
            Self::Unsure => "unsure",
            Self::None => "none",
        }
    }

    /// True if it certainly loads, at any cost.
    #[must_use]
    pub const fn loads(self) -> bool {
        matches!(self, Self::Exact | Self::Older | Self::Jit | Self::JitLink)
    }

    /// True if the driver compiles when it loads it.
    #[must_use]
    pub const fn is_compiled_at_load(self) -> bool {
        matches!(self, Self::Jit | Self::JitLink)
    }
}

/// The loading of one kernel on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The way.
    pub state: State,
    /// Index of the image that it is loaded from: the first, if several containers have the kernel.
    pub image: Option<u32>,
    /// The first driver that loads it.
    pub driver: Option<NeededDriver>,
    /// Bytes of PTX that the driver compiles for it.
    pub jit_bytes: u64,
    /// It has no body in the image that is loaded.
    pub stub: Option<Stub>,
    /// The largest block that its registers allow there, in threads; of machine code alone.
    pub largest_block: Option<u32>,
    /// Its containers lie where the library's own code chooses among them, by means that are not known.
    pub is_by_library: bool,
}

impl Cell {
    /// A kernel that is not loaded, or may not be loaded.
    pub(super) const fn without(state: State) -> Self {
        Self {
            state,
            image: None,
            driver: None,
            jit_bytes: 0,
            stub: None,
            largest_block: None,
            is_by_library: false,
        }
    }

    /// The loading of a kernel from two containers that register it both.
    pub(super) fn and(self, other: Self) -> Self {
        let state = match (self.state, other.state) {
            (one, two) if one == two => one,
            (State::Unsure, _) | (_, State::Unsure) => State::Unsure,
            (State::Partly | State::None, _) | (_, State::Partly | State::None) => State::Partly,
            (one, two) => one.max(two),
        };
        Self {
            state,
            image: self.image.or(other.image),
            driver: self.driver.max(other.driver),
            jit_bytes: self.jit_bytes.saturating_add(other.jit_bytes),
            largest_block: match (self.largest_block, other.largest_block) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            // A stub in one of them is not a stub in all.
            stub: self.stub.filter(|_| self.stub == other.stub),
            is_by_library: self.is_by_library && other.is_by_library,
        }
    }

    /// The better one of two: a library that chooses takes what loads.
    pub(super) fn or(self, other: Self) -> Self {
        if other.state < self.state { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_loads_if_all_its_containers_do() {
        let cell = Cell::without;
        let both = |one, two| cell(one).and(cell(two)).state;
        assert_eq!(both(State::Exact, State::Jit), State::Jit);
        assert_eq!(both(State::None, State::Jit), State::Partly);
        assert_eq!(both(State::Partly, State::None), State::Partly);
        assert_eq!(both(State::None, State::None), State::None);
        assert_eq!(both(State::Unsure, State::None), State::Unsure);
        assert_eq!(cell(State::None).or(cell(State::Older)).state, State::Older);
    }
}
