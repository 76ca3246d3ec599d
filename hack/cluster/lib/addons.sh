# What runs in the cluster from the start: volumes' classes, DNS, the object store.
# shellcheck shell=bash

addons_apply() {
  {
    cat "$HERE/manifests/storage.yaml"
    echo ---
    render "$HERE/manifests/coredns.yaml" COREDNS_IMAGE="$COREDNS_IMAGE"
    echo ---
    minio_secrets
    echo ---
    render "$HERE/manifests/minio.yaml" MINIO_NAMESPACE="$MINIO_NAMESPACE" MINIO_IMAGE="$MINIO_IMAGE"
  } | kubectl apply --server-side --field-manager=cluster -f - >/dev/null
}

# Random for every cluster; kept in the state directory so that this is repeatable.
minio_secrets() {
  local root_user root_password access_key_id secret_access_key
  if [ ! -e "$PKI/minio" ]; then
    (
      umask 077
      printf 'root_user=root-%s\nroot_password=%s\naccess_key_id=storagebench\nsecret_access_key=%s\n' \
        "$(openssl rand -hex 4)" "$(openssl rand -hex 20)" "$(openssl rand -hex 20)" >"$PKI/minio"
    )
  fi
  # shellcheck source=/dev/null
  . "$PKI/minio"
  cat <<EOF2
apiVersion: v1
kind: Namespace
metadata:
  name: $MINIO_NAMESPACE
  labels: {pod-security.kubernetes.io/enforce: restricted}
---
# All rights; nothing but MinIO itself needs it.
apiVersion: v1
kind: Secret
metadata: {name: minio-root, namespace: $MINIO_NAMESPACE}
stringData: {rootUser: "$root_user", rootPassword: "$root_password"}
---
# Reaches the bucket $BUCKET only; the keys are those of a ResultStore's secretRef.
apiVersion: v1
kind: Secret
metadata: {name: minio-bucket, namespace: $MINIO_NAMESPACE}
stringData: {accessKeyID: "$access_key_id", secretAccessKey: "$secret_access_key"}
EOF2
}

minio_service() { kubectl -n "$MINIO_NAMESPACE" get service minio -o 'jsonpath={.spec.clusterIP}'; }

minio_bucket() {
  local root_user root_password access_key_id secret_access_key
  # shellcheck source=/dev/null
  . "$PKI/minio"
  MINIO_ROOT_USER=$root_user MINIO_ROOT_PASSWORD=$root_password \
    ACCESS_KEY_ID=$access_key_id SECRET_ACCESS_KEY=$secret_access_key \
    "$(program minio-setup minio-setup)" --endpoint "$(minio_service):9000" --bucket "$BUCKET"
}

addon_ready() {
  local namespace=$1 deployment=$2
  wait_for 180 "$deployment" kubectl -n "$namespace" rollout status "deployment/$deployment" --timeout=20s || {
    kubectl -n "$namespace" get pods,events >&2 || true
    die "$deployment is not ready"
  }
}
