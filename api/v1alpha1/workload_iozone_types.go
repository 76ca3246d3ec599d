package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// IozoneTest is one test of iozone.
type IozoneTest string

// Tests of iozone. Rewrite and Reread are the second pass of Write and Read. What a test
// needs that was not asked for is done, and not reported.
const (
	IozoneWrite       IozoneTest = "Write"
	IozoneRewrite     IozoneTest = "Rewrite"
	IozoneRead        IozoneTest = "Read"
	IozoneReread      IozoneTest = "Reread"
	IozoneRandomRead  IozoneTest = "RandomRead"
	IozoneRandomWrite IozoneTest = "RandomWrite"
)

// IozoneTool is the program that measures.
type IozoneTool string

const (
	// IozoneToolAuto is iozone where it is installed, and fio otherwise.
	IozoneToolAuto IozoneTool = "Auto"
	// IozoneToolIozone is iozone, which is not free software and not in the image.
	IozoneToolIozone IozoneTool = "Iozone"
	// IozoneToolFio measures the same matrix with fio, and drops the file from the page
	// cache before Read and RandomRead.
	IozoneToolFio IozoneTool = "Fio"
)

// IozoneWorkload measures a matrix: each test for each file size and record size. A trial
// is the whole matrix. What the metrics mean is in docs/reference/workload-iozone.md.
type IozoneWorkload struct {
	// fileSizes, each a row of the matrix, from 1Ki to 16Ti and a multiple of each record
	// size that is not larger. Default: 64Mi, 512Mi.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	FileSizes []resource.Quantity `json:"fileSizes,omitempty"`

	// recordSizes, each a column: powers of two from 1Ki to 16Mi, with direct from 4Ki.
	// Records larger than a file are left out. Default: 4Ki, 64Ki, 1Mi.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	RecordSizes []resource.Quantity `json:"recordSizes,omitempty"`

	// tests to run. Default: all six.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:Enum=Write;Rewrite;Read;Reread;RandomRead;RandomWrite
	Tests []IozoneTest `json:"tests,omitempty"`

	// includeFlush counts the fsync at the end of a test that writes as part of its time,
	// as iozone -e. Without it, a file that fits into memory measures memory. Default: true.
	// +optional
	IncludeFlush *bool `json:"includeFlush,omitempty"`

	// direct bypasses the page cache, as iozone -I. Default: false.
	// +optional
	Direct bool `json:"direct,omitempty"`

	// tool is Auto, Iozone or Fio. Default: Auto.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Iozone;Fio
	Tool IozoneTool `json:"tool,omitempty"`
}
