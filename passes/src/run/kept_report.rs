//! The report about one text, as earlier runs have kept it.

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

/// The language of a text.
#[derive(Clone, Copy)]
pub(super) enum Language {
    Ptx,
    Ir,
}

/// The link of a text with others.
#[derive(Clone, Copy)]
pub(super) struct KeptReportLink {
    /// Functions that the linker merges count.
    pub(super) with_weak: bool,
    /// The texts that it is linked with; `None` if it is not linked.
    pub(super) key: Option<Key>,
}

impl<'a> KeptReport<'a> {
    /// The place for a text; `None` if no report about it is kept. A report about LLVM IR depends on the program that reads it, too.
    pub(super) fn new(
        language: Language,
        text: &[u8],
        settings: &'a Settings,
        linked: KeptReportLink,
    ) -> Option<Self> {
        let reports = settings.report_cache.as_deref()?;
        // The declarations alone are read faster than a report.
        if settings.images_only {
            return None;
        }
        let reader = match (language, &settings.ir_reader) {
            (Language::Ptx, _) => None,
            (Language::Ir, IrReader::Process(command)) => Some(command.program.as_path()),
            (Language::Ir, IrReader::Here(_) | IrReader::Missing) => return None,
        };
        let mut about = worker::encode_settings(settings);
        about.extend([reader.is_some(), settings.digest_kernels, linked.with_weak].map(u8::from));
        about.extend(linked.key.iter().flat_map(Key::as_bytes));
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
