//! Scalar and opaque types, and their sizes.

/// Makes the enumeration and the properties of each type from one row for each: variant, name, bits.
macro_rules! scalar_types {
    ($($variant:ident $name:literal $bits:expr, $what:literal;)*) => {
        /// The type of a variable, or one that an opcode names.
        ///
        /// Sizes are those of the PTX ISA: Fundamental Types, Alternate Floating-Point Data Formats, Fixed-point Data
        /// Formats and Packed Data Types. Variables are declared with fundamental and opaque types; `ptxas` takes the
        /// others in opcodes only, as in `cvt.rn.f16x2.e4m3x2`.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ScalarType {
            $(#[doc = concat!("`", $name, "`: ", $what)] $variant,)*
            /// A type without an entry here; [`Variable::scalar_name`](crate::ast::Variable::scalar_name) says which.
            Other,
        }

        impl ScalarType {
            /// All types but [`ScalarType::Other`].
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The type of this name, which begins with a dot, like `.u32`. `None` for names of no type, and of types
            /// without an entry here.
            #[must_use]
            #[allow(non_upper_case_globals)]
            pub fn named(name: &[u8]) -> Option<Self> {
                $(const $variant: &[u8] = $name.as_bytes();)*
                match name {
                    $($variant => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The name with its dot, like `.u32`; empty for [`ScalarType::Other`].
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other => "",
                }
            }

            /// Bits of one value, with what pads it: `.tf32` has 32, and each half of `.e2m3x2` has 8. 1 for `.pred`.
            /// `None` for opaque types, whose size the PTX ISA leaves open (Texture, Sampler and Surface Types), and for
            /// [`ScalarType::Other`].
            #[must_use]
            pub const fn bits(self) -> Option<u32> {
                match self {
                    $(Self::$variant => $bits,)*
                    Self::Other => None,
                }
            }
        }
    };
}

scalar_types! {
    Pred ".pred" Some(1), "a predicate. Registers only: it has no place in memory.";
    B8 ".b8" Some(8), "8 bits without a type.";
    B16 ".b16" Some(16), "16 bits without a type.";
    B32 ".b32" Some(32), "32 bits without a type.";
    B64 ".b64" Some(64), "64 bits without a type.";
    B128 ".b128" Some(128), "128 bits without a type.";
    U8 ".u8" Some(8), "an unsigned integer.";
    U16 ".u16" Some(16), "an unsigned integer.";
    U32 ".u32" Some(32), "an unsigned integer.";
    U64 ".u64" Some(64), "an unsigned integer.";
    S8 ".s8" Some(8), "a signed integer.";
    S16 ".s16" Some(16), "a signed integer.";
    S32 ".s32" Some(32), "a signed integer.";
    S64 ".s64" Some(64), "a signed integer.";
    F16 ".f16" Some(16), "a floating-point number.";
    F16x2 ".f16x2" Some(32), "two `.f16`.";
    BF16 ".bf16" Some(16), "a floating-point number with the exponents of `.f32`.";
    BF16x2 ".bf16x2" Some(32), "two `.bf16`.";
    F32 ".f32" Some(32), "a floating-point number.";
    F32x2 ".f32x2" Some(64), "two `.f32`.";
    F64 ".f64" Some(64), "a floating-point number.";
    TF32 ".tf32" Some(32), "an `.f32` of which matrix instructions read the upper 19 bits.";
    E4M3 ".e4m3" Some(8), "a floating-point number of 4 bits exponent, 3 bits mantissa.";
    E4M3x2 ".e4m3x2" Some(16), "two `.e4m3`.";
    E4M3x4 ".e4m3x4" Some(32), "four `.e4m3`.";
    E5M2 ".e5m2" Some(8), "a floating-point number of 5 bits exponent, 2 bits mantissa.";
    E5M2x2 ".e5m2x2" Some(16), "two `.e5m2`.";
    E5M2x4 ".e5m2x4" Some(32), "four `.e5m2`.";
    E2M3 ".e2m3" Some(6), "a floating-point number of 2 bits exponent, 3 bits mantissa.";
    E2M3x2 ".e2m3x2" Some(16), "two `.e2m3`, each in 8 bits.";
    E2M3x4 ".e2m3x4" Some(32), "four `.e2m3`, each in 8 bits.";
    E3M2 ".e3m2" Some(6), "a floating-point number of 3 bits exponent, 2 bits mantissa.";
    E3M2x2 ".e3m2x2" Some(16), "two `.e3m2`, each in 8 bits.";
    E3M2x4 ".e3m2x4" Some(32), "four `.e3m2`, each in 8 bits.";
    E2M1 ".e2m1" Some(4), "a floating-point number of 2 bits exponent, 1 bit mantissa.";
    E2M1x2 ".e2m1x2" Some(8), "two `.e2m1`.";
    E2M1x4 ".e2m1x4" Some(16), "four `.e2m1`.";
    UE8M0 ".ue8m0" Some(8), "a power of two: the scale of a block.";
    UE8M0x2 ".ue8m0x2" Some(16), "two `.ue8m0`.";
    UE4M3 ".ue4m3" Some(8), "an unsigned `.e4m3`: the scale of a block.";
    S2F6x2 ".s2f6x2" Some(16), "two signed fixed-point numbers with 6 bits behind the point, each in 8 bits.";
    U16x2 ".u16x2" Some(32), "two `.u16`.";
    S16x2 ".s16x2" Some(32), "two `.s16`.";
    U4 ".u4" Some(4), "an unsigned integer in a matrix.";
    S4 ".s4" Some(4), "a signed integer in a matrix.";
    B1 ".b1" Some(1), "a bit in a matrix.";
    Texref ".texref" None, "a texture, opaque.";
    Samplerref ".samplerref" None, "a sampler, opaque.";
    Surfref ".surfref" None, "a surface, opaque.";
}

impl ScalarType {
    /// Bytes of one value in memory. `None` where [`ScalarType::bits`] is, for `.pred`, which has no place in memory, and for types that do
    /// not fill whole bytes.
    ///
    /// ```
    /// use ptxcheck_ptx_parser::ast::ScalarType;
    ///
    /// assert_eq!(ScalarType::BF16x2.bytes(), Some(4));
    /// assert_eq!(ScalarType::E2M1.bytes(), None);
    /// assert_eq!(ScalarType::named(b".b128").and_then(ScalarType::bytes), Some(16));
    /// ```
    #[must_use]
    pub const fn bytes(self) -> Option<u32> {
        match self.bits() {
            Some(bits) if bits % 8 == 0 => Some(bits / 8),
            _ => None,
        }
    }

    /// A reference to a texture, a sampler or a surface: its variable is known by name only (PTX ISA, Texture, Sampler
    /// and Surface Types).
    #[must_use]
    pub const fn is_opaque(self) -> bool {
        matches!(self, Self::Texref | Self::Samplerref | Self::Surfref)
    }
}
