package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// verify uses the limited access key as the operator does: "write" puts an
// object, "read" compares it, "limits" sees that another bucket is refused.
func verify(ctx context.Context, step, endpoint, bucket string) error {
	const object, content = "cluster-selftest/object", "still here"
	client, err := minio.New(endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(os.Getenv("ACCESS_KEY_ID"), os.Getenv("SECRET_ACCESS_KEY"), ""),
	})
	if err != nil {
		return err
	}
	switch step {
	case "write":
		_, err := client.PutObject(ctx, bucket, object, strings.NewReader(content), int64(len(content)), minio.PutObjectOptions{})
		return err
	case "read":
		reader, err := client.GetObject(ctx, bucket, object, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer reader.Close()
		found, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		if string(found) != content {
			return fmt.Errorf("the object holds %q, want %q", found, content)
		}
		return client.RemoveObject(ctx, bucket, object, minio.RemoveObjectOptions{})
	case "limits":
		err := client.MakeBucket(ctx, bucket+"-other", minio.MakeBucketOptions{})
		if minio.ToErrorResponse(err).Code != "AccessDenied" {
			return fmt.Errorf("the limited access key made another bucket (%v), want AccessDenied", err)
		}
		return nil
	}
	return fmt.Errorf("--verify %q: want write, read or limits", step)
}
