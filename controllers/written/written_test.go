package written

import "testing"

func TestAVersionIsOlderOnlyThanAnOwnWriteOfTheSameObject(t *testing.T) {
	v := Versions{}
	if v.After("a", "1") || v.Is("a", "1") {
		t.Error("something is known of an object that was never written")
	}
	v.Set("a", "100")
	for version, want := range map[string]bool{"99": true, "100": false, "101": false, "x": false} {
		if got := v.After("a", version); got != want {
			t.Errorf("after %s: got %v, want %v", version, got, want)
		}
	}
	if !v.Is("a", "100") || v.Is("a", "99") || v.After("b", "1") {
		t.Error("versions of other objects or writes are taken for it")
	}
	v.Forget("a")
	if v.After("a", "99") {
		t.Error("it is not forgotten")
	}
}
