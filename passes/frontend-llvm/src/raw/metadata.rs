//! Metadata: nodes and strings, debug locations and what they lead to.

use std::marker::PhantomData;

use crate::llvm_sys::core::*;
use crate::llvm_sys::debuginfo::*;
use crate::llvm_sys::prelude::*;

use super::{Node, Value, ValueKind, text, wrap};

/// Most operands of a metadata node that are read.
const MAX_NODE_OPERANDS: u32 = 4_096;

impl<'m> Value<'m> {
    /// The operands of a node; none if it is not a node.
    pub(super) fn node_operands(self) -> Vec<Option<Value<'m>>> {
        // SAFETY: the kind of metadata as a value is checked before it is taken for a node; LLVM writes exactly as many operands
        // as it announces.
        unsafe {
            if self.kind() != ValueKind::LLVMMetadataAsValueValueKind || LLVMIsAMDNode(self.0).is_null() {
                return Vec::new();
            }
            let count = LLVMGetMDNodeNumOperands(self.0);
            if count > MAX_NODE_OPERANDS {
                return Vec::new();
            }
            let mut operands = vec![std::ptr::null_mut(); count as usize];
            LLVMGetMDNodeOperands(self.0, operands.as_mut_ptr());
            operands.into_iter().map(wrap).collect()
        }
    }

    /// A string in metadata.
    pub(crate) fn string(self) -> Option<&'m str> {
        let mut length = 0;
        // SAFETY: the result is null if it is not a string.
        unsafe {
            if self.kind() != ValueKind::LLVMMetadataAsValueValueKind {
                return None;
            }
            let string = LLVMGetMDString(self.0, &raw mut length);
            (!string.is_null()).then(|| text(string, length as usize))
        }
    }

    /// The node that this value wraps.
    pub(crate) fn node(self) -> Option<Node<'m>> {
        if self.kind() != ValueKind::LLVMMetadataAsValueValueKind {
            return None;
        }
        // SAFETY: metadata as a value.
        let node = unsafe { LLVMValueAsMetadata(self.0) };
        (!node.is_null()).then_some(Node(node, PhantomData))
    }
}

/// Kinds of metadata, as LLVM numbers them for `LLVMGetMetadataKind`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Location,
    Subprogram,
    LexicalBlock,
    Other,
}

impl<'m> Node<'m> {
    pub(crate) fn kind(self) -> NodeKind {
        // SAFETY: live metadata.
        match unsafe { LLVMGetMetadataKind(self.0) } {
            LLVMMetadataKind::LLVMDILocationMetadataKind => NodeKind::Location,
            LLVMMetadataKind::LLVMDISubprogramMetadataKind => NodeKind::Subprogram,
            LLVMMetadataKind::LLVMDILexicalBlockMetadataKind
            | LLVMMetadataKind::LLVMDILexicalBlockFileMetadataKind => NodeKind::LexicalBlock,
            _ => NodeKind::Other,
        }
    }

    /// Line, column, scope and the location it is inlined at, of a location.
    pub(crate) fn location(self) -> Option<(u32, u32, Option<Node<'m>>, Option<Node<'m>>)> {
        if self.kind() != NodeKind::Location {
            return None;
        }
        let wrap = |node: LLVMMetadataRef| (!node.is_null()).then_some(Node(node, PhantomData));
        // SAFETY: a location.
        unsafe {
            Some((
                LLVMDILocationGetLine(self.0),
                LLVMDILocationGetColumn(self.0),
                wrap(LLVMDILocationGetScope(self.0)),
                wrap(LLVMDILocationGetInlinedAt(self.0)),
            ))
        }
    }

    /// The DWARF tag of a type; 0 if it is not one.
    pub(crate) fn type_tag(self) -> u16 {
        // SAFETY: live metadata, asked for its tag if it is a type.
        unsafe {
            match LLVMGetMetadataKind(self.0) {
                LLVMMetadataKind::LLVMDIBasicTypeMetadataKind
                | LLVMMetadataKind::LLVMDIDerivedTypeMetadataKind
                | LLVMMetadataKind::LLVMDICompositeTypeMetadataKind => LLVMGetDINodeTag(self.0),
                _ => 0,
            }
        }
    }

    /// The line of a subprogram.
    pub(crate) fn line(self) -> u32 {
        if self.kind() == NodeKind::Subprogram {
            // SAFETY: a subprogram.
            unsafe { LLVMDISubprogramGetLine(self.0) }
        } else {
            0
        }
    }

    /// Directory and name of a scope's file.
    pub(crate) fn file(self) -> Option<(&'m str, &'m str)> {
        if !matches!(self.kind(), NodeKind::Subprogram | NodeKind::LexicalBlock) {
            return None;
        }
        let (mut a, mut b) = (0, 0);
        // SAFETY: a scope; its file may be missing, or, in a module that no verifier has seen, another node. The strings
        // are a part of the context.
        unsafe {
            let file = LLVMDIScopeGetFile(self.0);
            if file.is_null()
                || !matches!(
                    LLVMGetMetadataKind(file),
                    LLVMMetadataKind::LLVMDIFileMetadataKind
                )
            {
                return None;
            }
            let directory = LLVMDIFileGetDirectory(file, &raw mut a);
            let name = LLVMDIFileGetFilename(file, &raw mut b);
            Some((text(directory, a as usize), text(name, b as usize)))
        }
    }
}
