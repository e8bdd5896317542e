{{- define "ridgeline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 52 characters: names of other objects are made by adding to it. */}}
{{- define "ridgeline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "ridgeline.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "ridgeline.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Cluster-scoped objects of two releases must not meet. */}}
{{- define "ridgeline.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "ridgeline.fullname" .) -}}
{{- end -}}

{{- define "ridgeline.selectorLabels" -}}
app.kubernetes.io/name: {{ include "ridgeline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ridgeline.labels" -}}
{{ include "ridgeline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ridgeline.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "ridgeline.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "ridgeline.image" -}}
{{- $image := .Values.image -}}
{{- $repository := $image.repository -}}
{{- if $image.registry -}}
{{- $repository = printf "%s/%s" $image.registry $image.repository -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The operator's configuration file. What the chart itself decides cannot be given in `config`. */}}
{{- define "ridgeline.config" -}}
{{- $lease := dict "enabled" true "namespace" .Release.Namespace "name" (include "ridgeline.fullname" .) -}}
{{- $own := dict "namespaces" .Values.watchNamespaces "port" 8080 "telemetry" .Values.telemetry.endpoints -}}
{{- $config := mergeOverwrite (deepCopy .Values.config) $own -}}
{{- with .Values.parents -}}
{{- $_ := set $config "parents" . -}}
{{- end -}}
{{- if .Values.guard.allowArgs -}}
{{- $_ := set $config "allowArgs" true -}}
{{- end -}}
{{- $_ := set $config "lease" (mergeOverwrite (deepCopy (default dict .Values.config.lease)) $lease) -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Changes when the operator must start anew; the freeze switch it reads from its file by itself. */}}
{{- define "ridgeline.checksum" -}}
{{- omit (include "ridgeline.config" . | fromYaml) "freeze" | toYaml | sha256sum -}}
{{- end -}}

{{/* Of the Pod of `helm test`: no selector of the operator's own may match it. */}}
{{- define "ridgeline.testName" -}}
{{- printf "%s-test" (include "ridgeline.name" . | trunc 58 | trimSuffix "-") -}}
{{- end -}}

{{/* Where the addresses of telemetry.endpoints lead, as far as they tell. */}}
{{- define "ridgeline.telemetryPorts" -}}
{{- $ports := list -}}
{{- range .Values.telemetry.endpoints -}}
{{- if eq (default "Prometheus" .source) "Pods" -}}
{{- $ports = append $ports (int (default 8000 (default dict .pods).port)) -}}
{{- else -}}
{{- $url := urlParse .url -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports (int (default (ternary 443 80 (eq $url.scheme "https")) $port)) -}}
{{- end -}}
{{- end -}}
{{- toYaml (uniq $ports) -}}
{{- end -}}

{{- define "ridgeline.volumeMounts" -}}
- name: config
  mountPath: /etc/ridgeline/config
  readOnly: true
{{- if .Values.telemetry.secret }}
- name: telemetry
  mountPath: /etc/ridgeline/telemetry
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{- define "ridgeline.volumes" -}}
- name: config
  configMap:
    name: {{ include "ridgeline.fullname" . }}-config
{{- with .Values.telemetry.secret }}
- name: telemetry
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{/* What the operator does in the namespaces that it looks after. */}}
{{- define "ridgeline.namespacedRules" -}}
- apiGroups: [ridgeline.dev]
  resources: [speculativeservings, speculationpolicies]
  verbs: [list, watch]
- apiGroups: [ridgeline.dev]
  resources: [speculativeservings/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, patch]
- apiGroups: [""]
  resources: [pods, resourcequotas]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [list, watch]
# Read only while a target's Pods belong to such a group.
- apiGroups: [scheduling.volcano.sh, scheduling.x-k8s.io]
  resources: [podgroups]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- range .Values.parents }}
- apiGroups: [serving.kserve.io]
  resources: [{{ lower . }}s]
  verbs: [get, patch]
{{- end }}
{{- end -}}
