package trial

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// compactGrant is a Grant's JSON. What all keys begin with, and what all URLs begin with, stands
// there once: a Secret holds at most 1 MiB, and the names in a key can be long. Grants of
// release 0.2 and before have neither.
type compactGrant struct {
	Common  string `json:"common,omitempty"`
	BaseURL string `json:"baseURL,omitempty"`
	plainGrant
}

// plainGrant is a Grant without its methods.
type plainGrant Grant

// MarshalJSON writes the grant with what its keys and URLs have in common only once.
func (g Grant) MarshalJSON() ([]byte, error) {
	c := compactGrant{plainGrant: plainGrant(g)}
	keys := append(g.Uploads.Keys(), slices.Collect(maps.Keys(g.Get))...)
	urls := slices.AppendSeq(slices.Collect(maps.Values(g.Uploads.Put)), maps.Values(g.Get))
	c.Common, c.BaseURL = common(keys), common(urls)
	c.Get, c.Uploads.Put = shorten(c.Get, c.Common, c.BaseURL), shorten(c.Uploads.Put, c.Common, c.BaseURL)
	if c.Uploads.Post != nil {
		post := *c.Uploads.Post
		post.Objects = make(map[string]PostObject, len(g.Uploads.Post.Objects))
		for key, object := range g.Uploads.Post.Objects {
			post.Objects[strings.TrimPrefix(key, c.Common)] = object
		}
		c.Uploads.Post = &post
	}
	return json.Marshal(c)
}

// UnmarshalJSON reads what MarshalJSON writes, and the grants of older releases.
func (g *Grant) UnmarshalJSON(document []byte) error {
	var c compactGrant
	if err := json.Unmarshal(document, &c); err != nil {
		return err
	}
	c.Get, c.Uploads.Put = lengthen(c.Get, c.Common, c.BaseURL), lengthen(c.Uploads.Put, c.Common, c.BaseURL)
	if post := c.Uploads.Post; post != nil {
		objects := make(map[string]PostObject, len(post.Objects))
		for key, object := range post.Objects {
			objects[c.Common+key] = object
		}
		post.Objects = objects
	}
	*g = Grant(c.plainGrant)
	return nil
}

// common returns what all texts begin with.
func common(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	prefix := texts[0]
	for _, text := range texts[1:] {
		n := 0
		for n < len(prefix) && n < len(text) && prefix[n] == text[n] {
			n++
		}
		prefix = prefix[:n]
	}
	// Half a character is none in JSON.
	for len(prefix) > 0 && prefix[len(prefix)-1] >= 0x80 {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix
}

func shorten(urls map[string]string, key, url string) map[string]string {
	return rename(urls, func(k, u string) (string, string) { return strings.TrimPrefix(k, key), strings.TrimPrefix(u, url) })
}

func lengthen(urls map[string]string, key, url string) map[string]string {
	return rename(urls, func(k, u string) (string, string) { return key + k, url + u })
}

func rename(urls map[string]string, f func(key, url string) (string, string)) map[string]string {
	if urls == nil {
		return nil
	}
	out := make(map[string]string, len(urls))
	for key, url := range urls {
		key, url = f(key, url)
		out[key] = url
	}
	return out
}
