//! The report about one text, as earlier runs have kept it.

use std::path::Path;

use ptxcheck_cache::Key;

use crate::driver::ModuleReport;
use crate::report_cache::ReportCache;
use crate::settings::{IrReader, Settings};
use crate::worker;

/// The place of a text's report among those that are kept.
pub(super) struct KeptReport<'a> {
    reports: &'a ReportCache,
    settings: &'a Settings,
    key: Key,
}

impl<'a> KeptReport<'a> {
    /// The place for a text of PTX; `None` if no report about it is kept. `with_weak`: functions that the linker merges count.
    pub(super) fn of_ptx(text: &[u8], settings: &'a Settings, with_weak: bool) -> Option<Self> {
        Self::new(None, text, settings, with_weak)
    }

    /// The same for LLVM IR. Its report depends on the program that reads it, too.
    pub(super) fn of_ir(text: &[u8], settings: &'a Settings, with_weak: bool) -> Option<Self> {
        match &settings.ir_reader {
            IrReader::Process(command) => Self::new(Some(&command.program), text, settings, with_weak),
            IrReader::Here(_) | IrReader::Missing => None,
        }
    }

    fn new(reader: Option<&Path>, text: &[u8], settings: &'a Settings, with_weak: bool) -> Option<Self> {
        let reports = settings.report_cache.as_deref()?;
        // The declarations alone are read faster than a report.
        if settings.images_only {
            return None;
        }
        let mut about = worker::encode_settings(settings);
        about.extend([reader.is_some(), settings.digest_kernels, with_weak].map(u8::from));
        Some(Self {
            reports,
            settings,
            key: reports.key(&about, reader, text)?,
        })
    }

    /// The report, and true if addresses have 64 bits.
    pub(super) fn find(&self) -> Option<(bool, ModuleReport)> {
        let kept = self.reports.find(self.key)?;
        let (&is_64_bit, report) = kept.split_first()?;
        Some((
            is_64_bit != 0,
            worker::decode_report(report, &self.settings.registry)?,
        ))
    }

    /// Keeps a report, if it is about all of the text.
    pub(super) fn keep(&self, is_64_bit: bool, report: &ModuleReport) {
        if report.is_cut_short || report.left_out > 0 {
            return;
        }
        let mut kept = vec![u8::from(is_64_bit)];
        kept.extend(worker::encode_report(report));
        self.reports.keep(self.key, &kept);
    }
}
