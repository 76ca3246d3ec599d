package result

// Activity is what the kernel does on a layer of the storage besides what programs ask for.
type Activity struct {
	// On is the ID of the layer.
	On string `json:"on"`
	// What it is, in the kernel's own word: resync, check, balance, scrub, …
	What string `json:"what"`
	// Done is which share of it, if the kernel tells; 0: it does not.
	Done float64 `json:"done,omitempty"`
	// Maybe reports that it may be about another file system of the machine.
	Maybe bool `json:"maybe,omitempty"`
}

// LazyInit is the activity of an ext4 that writes its inode tables after it was mounted first.
const LazyInit = "lazy initialisation"

// MaxActivities is how many a trial has at most.
const MaxActivities = 16
