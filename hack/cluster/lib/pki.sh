# Certificates and kubeconfigs, made anew for every cluster.
# shellcheck shell=bash

PKI=$STATE/pki

pki_up() {
  local node
  mkdir -p "$PKI"
  chmod 700 "$PKI"
  authority ca
  authority front-proxy-ca
  authority etcd-ca
  certificate etcd etcd-ca /CN=etcd "IP:$API_ADDRESS"
  key sa
  openssl ec -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
  certificate apiserver ca /CN=kube-apiserver \
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:$API_ADDRESS,IP:$API_SERVICE"
  certificate apiserver-kubelet ca /O=system:masters/CN=kube-apiserver-kubelet-client
  certificate front-proxy front-proxy-ca /CN=front-proxy-client
  for node in "${NODES[@]}"; do node_pki "$node"; done
  client admin /O=system:masters/CN=admin
  client controller-manager /CN=system:kube-controller-manager
  client scheduler /CN=system:kube-scheduler
  client proxy /CN=system:kube-proxy
  client loop-provisioner /CN=loop-provisioner
}

node_pki() {
  [ ! -e "$PKI/$1.kubeconfig" ] || return 0
  certificate "$1" ca "/O=system:nodes/CN=system:node:$1" "DNS:$1,IP:${NODE_ADDRESS[$1]}"
  kubeconfig "$1"
}

key() { openssl ecparam -genkey -name prime256v1 -noout -out "$PKI/$1.key"; }

authority() {
  key "$1"
  openssl req -x509 -new -key "$PKI/$1.key" -subj "/CN=storagebench-cluster-$1" -days 3650 -out "$PKI/$1.crt" 2>/dev/null
}

# certificate NAME AUTHORITY SUBJECT [ALTERNATIVE-NAMES]
certificate() {
  local extensions="keyUsage=digitalSignature
extendedKeyUsage=serverAuth,clientAuth"
  [ $# -lt 4 ] || extensions+="
subjectAltName=$4"
  key "$1"
  openssl req -new -key "$PKI/$1.key" -subj "$3" -out "$PKI/$1.csr"
  openssl x509 -req -in "$PKI/$1.csr" -CA "$PKI/$2.crt" -CAkey "$PKI/$2.key" -CAcreateserial \
    -days 3650 -out "$PKI/$1.crt" -extfile <(echo "$extensions") 2>/dev/null
}

client() {
  certificate "$1" ca "$2"
  kubeconfig "$1"
}

kubeconfig() {
  cat >"$PKI/$1.kubeconfig" <<EOF2
apiVersion: v1
kind: Config
current-context: storagebench
contexts: [{name: storagebench, context: {cluster: storagebench, user: $1}}]
clusters:
- name: storagebench
  cluster:
    server: https://$API_ADDRESS:6443
    certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w0 "$PKI/$1.crt")
    client-key-data: $(base64 -w0 "$PKI/$1.key")
EOF2
  chmod 600 "$PKI/$1.kubeconfig"
}
