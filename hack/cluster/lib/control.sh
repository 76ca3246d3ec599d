# The control plane, kube-proxy and the volumes' provisioner, as daemons.
# shellcheck shell=bash disable=SC2034,SC2153  # some variables belong to other parts

kubectl() { "$(program kubernetes kubectl)" --kubeconfig "$PKI/admin.kubeconfig" "$@"; }

etcd_start() {
  # Its data dies with the cluster, so it need not wait for the disk, which
  # belongs to the benchmarks. Certificates, because Pods reach its address.
  local client=https://$API_ADDRESS:2379 peer=https://$API_ADDRESS:2380
  daemon etcd "$(program etcd etcd)" --name=storagebench --data-dir="$STATE/etcd" --unsafe-no-fsync --log-level=warn \
    --listen-client-urls="$client" --advertise-client-urls="$client" \
    --listen-peer-urls="$peer" --initial-advertise-peer-urls="$peer" --initial-cluster="storagebench=$peer" \
    --cert-file="$PKI/etcd.crt" --key-file="$PKI/etcd.key" --client-cert-auth --trusted-ca-file="$PKI/etcd-ca.crt" \
    --peer-cert-file="$PKI/etcd.crt" --peer-key-file="$PKI/etcd.key" --peer-client-cert-auth --peer-trusted-ca-file="$PKI/etcd-ca.crt"
}

apiserver_start() {
  daemon kube-apiserver "$(program kubernetes kube-apiserver)" \
    --etcd-servers="https://$API_ADDRESS:2379" --etcd-cafile="$PKI/etcd-ca.crt" --etcd-certfile="$PKI/etcd.crt" --etcd-keyfile="$PKI/etcd.key" \
    --bind-address="$API_ADDRESS" --advertise-address="$API_ADDRESS" --secure-port=6443 \
    --service-cluster-ip-range="$SERVICE_NETWORK" --allow-privileged \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --client-ca-file="$PKI/ca.crt" --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" \
    --kubelet-certificate-authority="$PKI/ca.crt" --kubelet-client-certificate="$PKI/apiserver-kubelet.crt" \
    --kubelet-client-key="$PKI/apiserver-kubelet.key" --kubelet-preferred-address-types=InternalIP \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$PKI/sa.pub" --service-account-signing-key-file="$PKI/sa.key" \
    --requestheader-client-ca-file="$PKI/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$PKI/front-proxy.crt" --proxy-client-key-file="$PKI/front-proxy.key" \
    --enable-aggregator-routing --cert-dir="$STATE/apiserver"
}

# Everything that needs the API server and nothing else.
controllers_start() {
  daemon kube-controller-manager "$(program kubernetes kube-controller-manager)" \
    --kubeconfig="$PKI/controller-manager.kubeconfig" --authentication-kubeconfig="$PKI/controller-manager.kubeconfig" \
    --authorization-kubeconfig="$PKI/controller-manager.kubeconfig" --use-service-account-credentials \
    --root-ca-file="$PKI/ca.crt" --service-account-private-key-file="$PKI/sa.key" \
    --cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
    --bind-address="$API_ADDRESS" --leader-elect=false --cert-dir="$STATE/controller-manager" \
    --flex-volume-plugin-dir="$STATE/controller-manager"
  daemon kube-scheduler "$(program kubernetes kube-scheduler)" \
    --kubeconfig="$PKI/scheduler.kubeconfig" --authentication-kubeconfig="$PKI/scheduler.kubeconfig" \
    --authorization-kubeconfig="$PKI/scheduler.kubeconfig" \
    --bind-address="$API_ADDRESS" --leader-elect=false --cert-dir="$STATE/scheduler"
  # One that runs watches the file, and ends when it changes.
  alive kube-proxy || render "$HERE/config/kube-proxy.yaml" >"$STATE/kube-proxy.yaml"
  daemon kube-proxy "$(program kubernetes kube-proxy)" --config="$STATE/kube-proxy.yaml"
  daemon loop-provisioner "$(program loop-provisioner loop-provisioner)" \
    --kubeconfig="$PKI/loop-provisioner.kubeconfig" --dir="$STATE/volumes"
}

# daemons NODE...: the names of those of the cluster and of these nodes.
daemons() {
  local node
  printf '%s\n' etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy loop-provisioner
  for node in "$@"; do printf '%s\n' "namespace-$node" "containerd-$node" "kubelet-$node"; done
}

api_ready() { kubectl get --raw /readyz >/dev/null; }

nodes_ready() {
  kubectl wait --for=condition=Ready --timeout="${1:-1}s" "${NODES[@]/#/node/}" >/dev/null
}
