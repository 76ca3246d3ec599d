// Command objects prints the keys of what is stored under a prefix of a bucket, to
// show where results are. The credentials come from the environment:
// ACCESS_KEY_ID and SECRET_ACCESS_KEY.
//
//	objects ENDPOINT BUCKET PREFIX/
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/store/s3"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: objects ENDPOINT BUCKET PREFIX/")
		os.Exit(2)
	}
	if err := list(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(1)
	}
}

func list(endpoint, bucket, prefix string) error {
	store, err := s3.New(s3.Config{Endpoint: endpoint, Bucket: bucket, AccessKey: os.Getenv("ACCESS_KEY_ID"), SecretKey: os.Getenv("SECRET_ACCESS_KEY")})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	keys, err := store.List(ctx, prefix, math.MaxInt)
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Println(key)
	}
	return err
}
