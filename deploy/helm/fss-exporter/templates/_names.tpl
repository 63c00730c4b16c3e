{{- define "fss-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 56 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 56 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 56 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fss-exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "fss-exporter.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fss-exporter.labels" -}}
{{ include "fss-exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: fss-exporter
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Service account of a component, empty for the default account of the namespace. */ -}}
{{- define "fss-exporter.serviceAccount" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-%s" (include "fss-exporter.fullname" .root) .component) $account.name -}}
{{- else -}}
{{- $account.name -}}
{{- end -}}
{{- end -}}

{{- define "fss-exporter.serviceAccountObject" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "fss-exporter.serviceAccount" . }}
  namespace: {{ include "fss-exporter.namespace" .root }}
  labels:
    {{- include "fss-exporter.labels" .root | nindent 4 }}
  {{- with $account.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
---
{{- end }}
{{- end -}}

{{- /* Whether a component has a web.yml, of a Secret of its own or named in extraArgs. */ -}}
{{- define "fss-exporter.webConfig" -}}
{{- $part := index .root.Values .component -}}
{{- if or $part.webConfigSecret (contains "--web.config.file" (join " " $part.extraArgs)) -}}
yes
{{- end -}}
{{- end -}}

{{- /* http or https, of each component: a web.yml brings a certificate unless the values say otherwise. */ -}}
{{- define "fss-exporter.scheme" -}}
{{- $scheme := (index .root.Values .component).scheme -}}
{{- $webConfig := include "fss-exporter.webConfig" . -}}
{{- if and (eq $scheme "https") (not $webConfig) -}}
{{- fail (printf "%s.scheme: https needs a certificate; set %s.webConfigSecret to a Secret with web.yml, tls.crt and tls.key" .component .component) -}}
{{- end -}}
{{- $scheme | default (ternary "http" "https" (empty $webConfig)) -}}
{{- end -}}

{{- /* A kubelet has no client certificate to show: where scrapers bring one, a probe only sees that the port is open. */ -}}
{{- define "fss-exporter.opensPortOnly" -}}
{{- if and (eq (include "fss-exporter.scheme" .) "https") (or .root.Values.tcpProbes .root.Values.monitors.tlsConfig.cert .root.Values.monitors.tlsConfig.certFile) -}}
yes
{{- end -}}
{{- end -}}

{{- define "fss-exporter.probes" -}}
{{- $scheme := include "fss-exporter.scheme" . | upper -}}
{{- $opensPortOnly := include "fss-exporter.opensPortOnly" . -}}
{{- $part := index .root.Values .component -}}
{{- range $probe, $path := dict "livenessProbe" "/-/healthy" "readinessProbe" "/-/ready" }}
{{ $probe }}:
  {{- if $opensPortOnly }}
  tcpSocket: {port: metrics}
  {{- else }}
  httpGet: {path: {{ $path }}, port: metrics, scheme: {{ $scheme }}}
  {{- end }}
  {{- toYaml (index $part $probe) | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fss-exporter.endpoint" -}}
{{- $monitors := .root.Values.monitors -}}
{{- $scheme := include "fss-exporter.scheme" . -}}
port: metrics
path: /metrics
interval: {{ $monitors.interval }}
scrapeTimeout: {{ $monitors.scrapeTimeout }}
scheme: {{ $scheme }}
{{- with ternary $monitors.tlsConfig dict (eq $scheme "https") }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- /* A password goes to no component that asks for none. */}}
{{- with ternary dict $monitors.basicAuth (empty (include "fss-exporter.webConfig" .)) }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitors.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Image of a component. */ -}}
{{- define "fss-exporter.image" -}}
{{- $image := (index .root.Values .component).image -}}
{{- $registry := .root.Values.image.registry -}}
{{- if not (or $registry (eq .root.Values.image.pullPolicy "Never")) -}}
{{- fail "image.registry: it is empty, so no node can pull the images; set it to your registry with the images of `make image`, or set image.pullPolicy=Never if every node already holds them" -}}
{{- end -}}
{{- with $registry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .root.Chart.AppVersion .root.Values.image.tag }}{{ end }}
{{- end -}}

{{- /* What the pods of both components have in common, containers and volumes excepted. */ -}}
{{- define "fss-exporter.pod" -}}
{{- $part := index .root.Values .component -}}
enableServiceLinks: false
terminationGracePeriodSeconds: 10
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $part.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $part $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Whether OCI knows an account of the poller by the token of its pod. A flag decides for every account. */ -}}
{{- define "fss-exporter.needsToken" -}}
{{- $oci := (.Values.poller.config | default dict).oci | default dict -}}
{{- $ways := list -}}
{{- range $account := $oci.accounts | default (list dict) -}}
{{- $ways = append $ways ($account.auth | default $oci.auth) -}}
{{- end -}}
{{- range .Values.poller.extraArgs -}}
{{- if hasPrefix "--oci.auth=" . }}{{ $ways = list (trimPrefix "--oci.auth=" .) }}{{ end -}}
{{- end -}}
{{- if has "workload_identity" $ways }}yes{{ end -}}
{{- end -}}

{{- /* Whether objects of the Prometheus operator are installed: "auto" asks the cluster for their definitions. */ -}}
{{- define "fss-exporter.operator" -}}
{{- if or (eq (toString .enabled) "true") (and (eq (toString .enabled) "auto") (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
yes
{{- end -}}
{{- end -}}
