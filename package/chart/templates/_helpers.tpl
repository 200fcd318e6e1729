{{- define "cascada.name" -}}
{{- if contains "cascada" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-cascada" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "cascada.selector" -}}
app.kubernetes.io/name: cascada
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cascada.labels" -}}
{{ include "cascada.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "cascada.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "cascada.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "cascada.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "cascada.internal" -}}
{{ if or .Values.metrics .Values.admin .Values.console }}yes{{ end }}
{{- end }}

{{- define "cascada.settings" -}}
{{- $own := dict "listen" "0.0.0.0:8080" "demo" false "master-key-file" "/run/secrets/cascada/master-key" }}
{{- if .Values.postgres.existingSecret }}{{ $_ := set $own "database-file" "/run/secrets/cascada/database" }}{{ else }}{{ $_ := set $own "database" "sqlite:/data/cascada.db" }}{{ end }}
{{- if .Values.metrics }}{{ $_ := set $own "metrics" "0.0.0.0:9464" }}{{ end }}
{{- if .Values.admin }}{{ $_ := set $own "admin" "0.0.0.0:9465" }}{{ end }}
{{- if .Values.console }}{{ $_ := set $own "console" "0.0.0.0:9466" }}{{ end }}
{{- range $setting, $from := .Values.secretFiles }}{{ $_ := set $own $setting (print "/run/secrets/cascada/" (trimSuffix "-file" $setting)) }}{{ end }}
{{- toYaml (merge $own .Values.settings) }}
{{- end }}

{{- define "cascada.settingsName" -}}
{{ include "cascada.name" . }}-{{ include "cascada.settings" . | sha256sum | trunc 10 }}
{{- end }}

{{- /* The pods, the same for both kinds of databases. */ -}}
{{- define "cascada.pod" -}}
metadata:
  labels:
    {{- include "cascada.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with .Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "cascada.account" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false # variables of the service cascada would look like settings
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity: {{- toYaml .Values.affinity | nindent 4 }}
  {{- else }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "cascada.selector" . | nindent 14 }}
  {{- end }}
  containers:
  - name: cascada
    image: {{ include "cascada.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args: [serve, --config, /etc/cascada/cascada.yaml]
    securityContext:
      readOnlyRootFilesystem: true
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL]}
    {{- with .Values.extraEnv }}
    env: {{- toYaml . | nindent 4 }}
    {{- end }}
    ports:
    - {name: http, containerPort: 8080}
    {{- if .Values.metrics }}
    - {name: metrics, containerPort: 9464}
    {{- end }}
    {{- if .Values.admin }}
    - {name: admin, containerPort: 9465}
    {{- end }}
    {{- if .Values.console }}
    - {name: console, containerPort: 9466}
    {{- end }}
    # A first start may migrate for long; /healthz answers meanwhile.
    startupProbe:
      httpGet: {path: /healthz, port: http}
      periodSeconds: 2
      failureThreshold: 30
    livenessProbe:
      httpGet: {path: /healthz, port: http}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: /readyz, port: http}
      periodSeconds: 5
      timeoutSeconds: 5
      failureThreshold: 2
    resources: {{- toYaml .Values.resources | nindent 6 }}
    volumeMounts:
    - {name: settings, mountPath: /etc/cascada, readOnly: true}
    - {name: secrets, mountPath: /run/secrets/cascada, readOnly: true}
    {{- if .Values.postgres.caSecret }}
    - {name: ca, mountPath: /run/secrets/cascada-ca, readOnly: true}
    {{- end }}
    - {name: data, mountPath: /data}
  volumes:
  - name: settings
    configMap: {name: {{ include "cascada.settingsName" . }}}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
      - secret:
          name: {{ .Values.masterKey.existingSecret }}
          items: [{key: {{ .Values.masterKey.key | quote }}, path: master-key}]
      {{- if .Values.postgres.existingSecret }}
      - secret:
          name: {{ .Values.postgres.existingSecret }}
          items: [{key: {{ .Values.postgres.key | quote }}, path: database}]
      {{- end }}
      {{- range $setting, $from := .Values.secretFiles }}
      - secret:
          name: {{ $from.secret }}
          items: [{key: {{ $from.key | quote }}, path: {{ trimSuffix "-file" $setting }}}]
      {{- end }}
  {{- if .Values.postgres.caSecret }}
  - name: ca
    secret: {secretName: {{ .Values.postgres.caSecret }}}
  {{- end }}
  {{- if .Values.postgres.existingSecret }}
  - name: data # for temporary files
    emptyDir: {}
  {{- end }}
{{- end }}
