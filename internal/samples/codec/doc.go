// Package codec writes tables of samples as Parquet files, and reads them again.
//
// In: a samples.Table. Out: a Parquet file that pandas, DuckDB and others read: one row group,
// pages compressed with zstd. Decode reads only files of that form, and looks at everything in
// them that could cost memory or time before it hands them to the library: whoever can
// write to the store may have written them.
package codec
