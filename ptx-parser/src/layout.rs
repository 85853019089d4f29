//! Sizes and alignments of declared variables.

use crate::ast::{Extent, NONE, Variable};

impl Variable {
    /// `.reg .b32 %r<5>`: how many registers are declared, here `%r0` to `%r4`. `None` without a number in angle brackets.
    #[must_use]
    pub const fn registers(&self) -> Option<u32> {
        match self.range {
            NONE => None,
            count => Some(count),
        }
    }

    /// Bytes of one element of the array, or of the whole variable where it is none: the scalar type times the length of
    /// the vector (PTX ISA, Vectors). `None` where [`ScalarType::bytes`](crate::ast::ScalarType::bytes) is.
    #[must_use]
    pub fn element_bytes(&self) -> Option<u64> {
        Some(u64::from(self.scalar.bytes()?) * u64::from(self.vector))
    }

    /// Bytes of the variable, or of each register of a range: the element times the dimensions of the array (PTX ISA,
    /// Array Declarations). `None` where the size is found elsewhere ([`Extent::Unsized`]), where
    /// [`Variable::element_bytes`] is, and from 2⁶⁴ bytes on.
    ///
    /// ```
    /// let source = b".global .v4 .f32 a[3]; .extern .shared .align 16 .b8 b[];";
    /// let tree = ptxcheck_ptx_parser::parse(source)?;
    /// let [a, b] = tree.variables() else { panic!() };
    /// assert_eq!((a.bytes(), a.alignment()), (Some(48), Some(16)));
    /// assert_eq!((b.bytes(), b.alignment()), (None, Some(16)));
    /// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
    /// ```
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let count = match self.extent {
            Extent::Scalar => 1,
            Extent::Elements(count) => count,
            Extent::Unsized => return None,
        };
        self.element_bytes()?.checked_mul(count)
    }

    /// Alignment in bytes: that of `.align`, as it is written, else the size of one element, which for a vector is all of
    /// it (PTX ISA, Alignment). `None` without `.align` where [`Variable::element_bytes`] is.
    #[must_use]
    pub fn alignment(&self) -> Option<u32> {
        match self.align {
            0 => u32::try_from(self.element_bytes()?).ok(),
            written => Some(written),
        }
    }
}
