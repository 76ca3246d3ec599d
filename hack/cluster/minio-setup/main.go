// Command minio-setup makes, in a fresh MinIO, what storagebench expects of an
// object store: a bucket, and an access key that reaches that bucket only. It
// may be run again. The credentials come from the environment, so that they
// are in no process list:
//
//	MINIO_ROOT_USER, MINIO_ROOT_PASSWORD, ACCESS_KEY_ID, SECRET_ACCESS_KEY
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/minio/madmin-go/v3"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("minio-setup: ")
	endpoint := flag.String("endpoint", "", "host:port of the server")
	bucket := flag.String("bucket", "", "the bucket to make")
	wait := flag.Duration("wait", 60*time.Second, "how long to try")
	check := flag.String("verify", "", "instead of setting up, try the limited access key: write, read or limits")
	flag.Parse()

	ctx, cancel := context.WithTimeout(context.Background(), *wait)
	defer cancel()
	for {
		err := do(ctx, *check, *endpoint, *bucket)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			log.Fatal(err)
		case <-time.After(500 * time.Millisecond): // a Service's rules appear a little after its Pod
		}
	}
}

func do(ctx context.Context, check, endpoint, bucket string) error {
	if check != "" {
		return verify(ctx, check, endpoint, bucket)
	}
	return setUp(ctx, endpoint, bucket)
}

func setUp(ctx context.Context, endpoint, bucket string) error {
	root := credentials.NewStaticV4(os.Getenv("MINIO_ROOT_USER"), os.Getenv("MINIO_ROOT_PASSWORD"), "")
	client, err := minio.New(endpoint, &minio.Options{Creds: root})
	if err != nil {
		return err
	}
	exists, err := client.BucketExists(ctx, bucket)
	if err != nil {
		return fmt.Errorf("look for bucket %s: %w", bucket, err)
	}
	if !exists {
		if err := client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{}); err != nil {
			return fmt.Errorf("make bucket %s: %w", bucket, err)
		}
	}

	admin, err := madmin.NewWithOptions(endpoint, &madmin.Options{Creds: root})
	if err != nil {
		return err
	}
	policy, err := bucketPolicy(bucket)
	if err != nil {
		return err
	}
	name, user := bucket+"-bucket", os.Getenv("ACCESS_KEY_ID")
	if err := admin.AddCannedPolicy(ctx, name, policy); err != nil {
		return fmt.Errorf("add policy %s: %w", name, err)
	}
	if err := admin.AddUser(ctx, user, os.Getenv("SECRET_ACCESS_KEY")); err != nil {
		return fmt.Errorf("add access key %s: %w", user, err)
	}
	attached, err := admin.GetUserInfo(ctx, user)
	if err != nil {
		return fmt.Errorf("look at access key %s: %w", user, err)
	}
	if attached.PolicyName == name {
		return nil
	}
	if _, err := admin.AttachPolicy(ctx, madmin.PolicyAssociationReq{Policies: []string{name}, User: user}); err != nil {
		return fmt.Errorf("attach policy %s to %s: %w", name, user, err)
	}
	return nil
}

// bucketPolicy allows everything that the operator and its presigned URLs do,
// in one bucket.
func bucketPolicy(bucket string) ([]byte, error) {
	type statement struct {
		Effect   string
		Action   []string
		Resource []string
	}
	return json.Marshal(struct {
		Version   string
		Statement []statement
	}{"2012-10-17", []statement{
		{"Allow", []string{"s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"}, []string{"arn:aws:s3:::" + bucket}},
		{"Allow", []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"}, []string{"arn:aws:s3:::" + bucket + "/*"}},
	}})
}
